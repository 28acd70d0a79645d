-- The dump of a results.db of schema version 7, with its marks. Never change it; see test_migrate.c.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE runs( run_id TEXT PRIMARY KEY, kind TEXT NOT NULL CHECK(kind IN('train','eval','bench')), config_id TEXT NOT NULL, train_run_id TEXT REFERENCES runs(run_id), scale TEXT NOT NULL, modified INTEGER NOT NULL CHECK(modified IN(0,1)), dataset TEXT NOT NULL, corpus TEXT NOT NULL, model TEXT NOT NULL, position TEXT NOT NULL, L_train INTEGER NOT NULL, seed INTEGER NOT NULL, precision TEXT NOT NULL, updates INTEGER, parameters INTEGER, L_valid INTEGER, split TEXT, protocol TEXT, stride INTEGER, first_window TEXT, checkpoint TEXT, targets INTEGER, mode TEXT, flops REAL, canonical TEXT NOT NULL, spec TEXT NOT NULL, created_at TEXT NOT NULL, CHECK((kind='eval')=(train_run_id IS NOT NULL)), CHECK(kind<>'eval' OR(L_valid IS NOT NULL AND split IS NOT NULL AND protocol IS NOT NULL)), CHECK((kind='bench')=(mode IS NOT NULL))) STRICT;
INSERT INTO runs VALUES('3d1e410eb46cdf43','train','f821ade2808aff78',NULL,'mini',0,'wikitext103','mini-wikitext103','tiny','alibi',64,1,'fp32',20,1000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,5000000000.0,replace('data.corpus=mini-wikitext103\ndata.dataset=wikitext103\ndata.test_tokens=0\ndata.train_tokens=0\ndata.valid_tokens=0\ndata.vocab=0\nkind=train\nmeaning=1\nmodel.cutoffs=none\nmodel.dim=0\nmodel.ffn=0\nmodel.heads=0\nmodel.layers=0\nmodel.position=alibi\nmodel.softmax=adaptive\nscale=mini\ntrain.L=64\ntrain.lr=0\ntrain.period=0\ntrain.seed=1\ntrain.shard_tokens=0\ntrain.updates=20\n','\n',char(10)),replace('kind=train\nscale=mini\nmodel.name=tiny\nmodel.position=alibi\nmodel.layers=0\nmodel.dim=0\nmodel.heads=0\nmodel.ffn=0\nmodel.softmax=adaptive\nmodel.cutoffs=none\nmodel.adaptive_factor=4\nmodel.final_norm=false\nmodel.dropout=0\nmodel.dropout_attention=0\nmodel.dropout_relu=0\nmodel.dropout_softmax=0\ndata.dataset=wikitext103\ndata.corpus=mini-wikitext103\ndata.fingerprint=\ndata.vocab=0\ndata.train_tokens=0\ndata.valid_tokens=0\ndata.test_tokens=0\ntrain.L=64\ntrain.shards=1\ntrain.shard_tokens=0\ntrain.updates=20\ntrain.optimizer=nag\ntrain.lr=0\ntrain.lr_init=0\ntrain.lr_min=0\ntrain.schedule=cosine\ntrain.warmup=0\ntrain.period=0\ntrain.period_multiplier=1\ntrain.lr_shrink=1\ntrain.momentum=0.99\ntrain.weight_decay=0\ntrain.clip=0\ntrain.seed=1\ntrain.precision=fp32\ntrain.tail_quirk=false\ntrain.validate_every=0\nmeaning=1\n','\n',char(10)),'2026-11-21T10:00:00Z');
INSERT INTO runs VALUES('4704a074485d2bc7','eval','dc447a217d93a232','3d1e410eb46cdf43','mini',0,'wikitext103','mini-wikitext103','tiny','alibi',64,1,'fp32',NULL,1000,128,'valid','nonoverlapping',NULL,'whole','best',0,NULL,5000000000.0,replace('eval.L=128\neval.split=valid\neval.train_run=3d1e410eb46cdf43\neval.window=nonoverlapping\nkind=eval\nmeaning=1\nscale=mini\n','\n',char(10)),replace('kind=eval\nscale=mini\nmodel.name=tiny\neval.train_run=3d1e410eb46cdf43\neval.checkpoint=best\neval.split=valid\neval.window=nonoverlapping\neval.L=128\neval.precision=fp32\neval.targets=0\nmeaning=1\n','\n',char(10)),'2026-11-21T10:00:00Z');
INSERT INTO runs VALUES('dc48aa6a3bf6f14d','bench','1d5cca28c97a0afd',NULL,'mini',0,'wikitext103','mini-wikitext103','tiny','rotary',64,1,'fp32',NULL,1000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'train',5000000000.0,replace('bench.mode=train\ndata.corpus=mini-wikitext103\ndata.dataset=wikitext103\ndata.test_tokens=0\ndata.train_tokens=0\ndata.valid_tokens=0\ndata.vocab=0\nkind=bench\nmeaning=1\nmodel.cutoffs=none\nmodel.dim=0\nmodel.ffn=0\nmodel.heads=0\nmodel.layers=0\nmodel.position=rotary\nmodel.softmax=adaptive\nscale=mini\ntrain.L=64\ntrain.seed=1\ntrain.shard_tokens=0\n','\n',char(10)),replace('kind=bench\nscale=mini\nmodel.name=tiny\nmodel.position=rotary\nmodel.layers=0\nmodel.dim=0\nmodel.heads=0\nmodel.ffn=0\nmodel.softmax=adaptive\nmodel.cutoffs=none\nmodel.adaptive_factor=4\nmodel.final_norm=false\nmodel.dropout=0\nmodel.dropout_attention=0\nmodel.dropout_relu=0\nmodel.dropout_softmax=0\nmodel.rotary_base=10000\nmodel.rotary_layout=adjacent_pairs\ndata.dataset=wikitext103\ndata.corpus=mini-wikitext103\ndata.fingerprint=\ndata.vocab=0\ndata.train_tokens=0\ndata.valid_tokens=0\ndata.test_tokens=0\ntrain.L=64\ntrain.shards=1\ntrain.shard_tokens=0\ntrain.optimizer=nag\ntrain.momentum=0.99\ntrain.weight_decay=0\ntrain.clip=0\ntrain.seed=1\ntrain.precision=fp32\nbench.mode=train\nmeaning=1\n','\n',char(10)),'2026-11-21T10:00:00Z');
INSERT INTO runs VALUES('ef22ebd8b4bc3c3d','train','32131cec903feaf4',NULL,'mini',0,'wikitext103','mini-wikitext103','tiny','t5',64,1,'fp32',20,1000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,5000000000.0,replace('data.corpus=mini-wikitext103\ndata.dataset=wikitext103\ndata.test_tokens=0\ndata.train_tokens=0\ndata.valid_tokens=0\ndata.vocab=0\nkind=train\nmeaning=1\nmodel.cutoffs=none\nmodel.dim=0\nmodel.ffn=0\nmodel.heads=0\nmodel.layers=0\nmodel.position=t5\nmodel.softmax=adaptive\nscale=mini\ntrain.L=64\ntrain.lr=0\ntrain.period=0\ntrain.seed=1\ntrain.shard_tokens=0\ntrain.updates=20\n','\n',char(10)),replace('kind=train\nscale=mini\nmodel.name=tiny\nmodel.position=t5\nmodel.layers=0\nmodel.dim=0\nmodel.heads=0\nmodel.ffn=0\nmodel.softmax=adaptive\nmodel.cutoffs=none\nmodel.adaptive_factor=4\nmodel.final_norm=false\nmodel.dropout=0\nmodel.dropout_attention=0\nmodel.dropout_relu=0\nmodel.dropout_softmax=0\nmodel.t5_buckets=32\nmodel.t5_max_distance=128\nmodel.t5_init_std=0\nmodel.t5_multiplier=1\ndata.dataset=wikitext103\ndata.corpus=mini-wikitext103\ndata.fingerprint=\ndata.vocab=0\ndata.train_tokens=0\ndata.valid_tokens=0\ndata.test_tokens=0\ntrain.L=64\ntrain.shards=1\ntrain.shard_tokens=0\ntrain.updates=20\ntrain.optimizer=nag\ntrain.lr=0\ntrain.lr_init=0\ntrain.lr_min=0\ntrain.schedule=cosine\ntrain.warmup=0\ntrain.period=0\ntrain.period_multiplier=1\ntrain.lr_shrink=1\ntrain.momentum=0.99\ntrain.weight_decay=0\ntrain.clip=0\ntrain.seed=1\ntrain.precision=fp32\ntrain.tail_quirk=false\ntrain.validate_every=0\nmeaning=1\n','\n',char(10)),'2026-11-21T10:00:00Z');
CREATE TABLE points( artefact TEXT NOT NULL, scale TEXT NOT NULL, point INTEGER NOT NULL, run_id TEXT NOT NULL REFERENCES runs(run_id), L_train_nominal INTEGER, L_valid_nominal INTEGER, stride_nominal INTEGER, PRIMARY KEY(artefact,scale,point)) STRICT;
INSERT INTO points VALUES('table5','mini',0,'4704a074485d2bc7',512,1024,NULL);
CREATE TABLE run_attempts( attempt_id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, run_id TEXT NOT NULL REFERENCES runs(run_id), attempt INTEGER NOT NULL CHECK(attempt>=1), state TEXT NOT NULL  CHECK(state IN('running','done','failed','diverged','lost','cancelled')), slot TEXT, boot_id TEXT, pid INTEGER, pid_start INTEGER, dir TEXT NOT NULL, started_at TEXT NOT NULL, ended_at TEXT, exit_code INTEGER, signal INTEGER, message TEXT, merged_from TEXT, host TEXT, device TEXT, backend TEXT, blas TEXT, threads INTEGER, code_id TEXT, program TEXT, choices TEXT, ranks INTEGER, UNIQUE(run_id,attempt), CHECK((state='running')=(ended_at IS NULL))) STRICT;
INSERT INTO run_attempts VALUES(1,'00000000000000000000000000000001','3d1e410eb46cdf43',1,'done','cpu','boot',NULL,NULL,'runs/3d1e410eb46cdf43/1','2026-11-21T10:00:00Z','2026-11-21T10:01:00Z',NULL,NULL,NULL,NULL,'here','a processor','cpu','some',1,'c0de','alibi',NULL,NULL);
INSERT INTO run_attempts VALUES(2,'00000000000000000000000000000002','4704a074485d2bc7',1,'done','cpu','boot',NULL,NULL,'runs/4704a074485d2bc7/1','2026-11-21T10:00:00Z','2026-11-21T10:01:00Z',NULL,NULL,NULL,NULL,'here','a processor','cpu','some',1,'c0de','alibi',NULL,NULL);
INSERT INTO run_attempts VALUES(3,'00000000000000000000000000000003','dc48aa6a3bf6f14d',1,'done','cpu','boot',NULL,NULL,'runs/dc48aa6a3bf6f14d/1','2026-11-21T10:00:00Z','2026-11-21T10:01:00Z',NULL,NULL,NULL,NULL,'here',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO run_attempts VALUES(4,'00000000000000000000000000000004','ef22ebd8b4bc3c3d',1,'failed','cpu','boot',NULL,NULL,'runs/ef22ebd8b4bc3c3d/1','2026-11-21T10:00:00Z','2026-11-21T10:01:00Z',70,NULL,'it broke',NULL,'here',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE results( result_id INTEGER PRIMARY KEY, attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), run_id TEXT NOT NULL REFERENCES runs(run_id), kind TEXT NOT NULL CHECK(kind IN('train','eval','bench')), sequence INTEGER NOT NULL, current INTEGER NOT NULL CHECK(current IN(0,1)), late INTEGER NOT NULL CHECK(late IN(0,1)), updates INTEGER, final_loss_nats REAL, perplexity REAL, tokens INTEGER, nonfinite INTEGER, wps REAL, peak_memory_bytes INTEGER, wall_seconds REAL, tokens_per_update INTEGER, parameters INTEGER, train_wps REAL, best_checkpoint TEXT, best_sha256 TEXT, last_checkpoint TEXT, last_sha256 TEXT, loss_nats REAL, eval_wps REAL, checkpoint_sha256 TEXT, position_loss TEXT, mfu REAL, batch_tokens INTEGER, cpu_share REAL, switches_per_s REAL, datastore_sha256 TEXT, bytes INTEGER, words INTEGER, documents INTEGER, tokenizer TEXT, tokenizer_sha256 TEXT, UNIQUE(attempt_id,sequence), CHECK(current=0 OR late=0), CHECK(kind<>'train' OR(updates IS NOT NULL AND final_loss_nats IS NOT NULL)), CHECK(kind<>'eval' OR(tokens IS NOT NULL AND nonfinite IS NOT NULL  AND(nonfinite=0)=(perplexity IS NOT NULL))), CHECK(kind<>'bench' OR wps IS NOT NULL)) STRICT;
INSERT INTO results VALUES(1,1,'3d1e410eb46cdf43','train',6,1,0,20,2.125,NULL,NULL,NULL,NULL,4096,2.5,768,1000,1000.5,'best.safetensors','abc','last.safetensors','abc-last',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO results VALUES(2,2,'4704a074485d2bc7','eval',2,1,0,NULL,NULL,17.25,100,0,NULL,2048,0.5,NULL,NULL,NULL,NULL,NULL,NULL,NULL,2.5,NULL,'abc',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO results VALUES(3,3,'dc48aa6a3bf6f14d','bench',1,1,0,NULL,NULL,NULL,NULL,NULL,1234.5,77,1.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0.5,512,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE checkpoint_files( attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), sequence INTEGER NOT NULL, step INTEGER NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, best INTEGER NOT NULL CHECK(best IN(0,1)), bytes INTEGER, PRIMARY KEY(attempt_id,sequence)) STRICT;
INSERT INTO checkpoint_files VALUES(1,5,20,'best.safetensors','abc',1,4096);
CREATE TABLE curve_points( attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), split TEXT NOT NULL CHECK(split IN('train','valid')), step INTEGER NOT NULL, best INTEGER CHECK(best IN(0,1)), loss_nats REAL, lr REAL, grad_norm REAL, epoch INTEGER, perplexity REAL, PRIMARY KEY(attempt_id,split,step)) STRICT, WITHOUT ROWID;
INSERT INTO curve_points VALUES(1,'train',1,NULL,5.5,0.10000000000000000555,1.0,NULL,NULL);
INSERT INTO curve_points VALUES(1,'train',2,NULL,5.25,0.2000000000000000111,2.0,NULL,NULL);
INSERT INTO curve_points VALUES(1,'valid',2,1,5.0,NULL,NULL,1,148.40000000000000568);
CREATE TABLE progress_now( attempt_id INTEGER PRIMARY KEY REFERENCES run_attempts(attempt_id), sequence INTEGER NOT NULL, updated_at TEXT NOT NULL, done REAL, total REAL, loss_nats REAL, wps REAL) STRICT;
CREATE TABLE paper_files( artefact TEXT PRIMARY KEY, sha256 TEXT NOT NULL, read_at TEXT NOT NULL) STRICT;
INSERT INTO paper_files VALUES('table5','f5d69e71ea6383c0defc2b4a1a22397c686fdbf5f79619ef6139ed06883ed45d','2026-11-21T10:00:00Z');
CREATE TABLE paper_cells( artefact TEXT NOT NULL REFERENCES paper_files(artefact) ON DELETE CASCADE, line INTEGER NOT NULL, dataset TEXT, panel TEXT, series TEXT, method TEXT, params TEXT, L_train INTEGER, L_valid INTEGER, split TEXT, protocol TEXT, stride INTEGER, x_name TEXT, x REAL, metric TEXT NOT NULL, value REAL, unit TEXT, note TEXT, source TEXT, position TEXT, PRIMARY KEY(artefact,line)) STRICT;
INSERT INTO paper_cells VALUES('table5',2,'wikitext103',NULL,NULL,'ALiBi','247M',512,1024,'valid','nonoverlapping',NULL,NULL,NULL,'perplexity',18.5,'ppl',NULL,'p. 19','alibi');
CREATE TABLE run_settings( run_id TEXT NOT NULL REFERENCES runs(run_id), key TEXT NOT NULL, value TEXT NOT NULL, hashed INTEGER NOT NULL CHECK(hashed IN(0,1)), PRIMARY KEY(run_id,key)) STRICT, WITHOUT ROWID;
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','data.corpus','mini-wikitext103',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','data.dataset','wikitext103',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','data.fingerprint','',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','data.test_tokens','0',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','data.train_tokens','0',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','data.valid_tokens','0',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','data.vocab','0',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','kind','train',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','meaning','1',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.adaptive_factor','4',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.cutoffs','none',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.dim','0',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.dropout','0',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.dropout_attention','0',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.dropout_relu','0',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.dropout_softmax','0',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.ffn','0',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.final_norm','false',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.heads','0',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.layers','0',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.name','tiny',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.position','alibi',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','model.softmax','adaptive',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','scale','mini',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.L','64',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.clip','0',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.lr','0',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.lr_init','0',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.lr_min','0',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.lr_shrink','1',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.momentum','0.99',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.optimizer','nag',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.period','0',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.period_multiplier','1',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.precision','fp32',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.schedule','cosine',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.seed','1',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.shard_tokens','0',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.shards','1',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.tail_quirk','false',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.updates','20',1);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.validate_every','0',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.warmup','0',0);
INSERT INTO run_settings VALUES('3d1e410eb46cdf43','train.weight_decay','0',0);
INSERT INTO run_settings VALUES('4704a074485d2bc7','eval.L','128',1);
INSERT INTO run_settings VALUES('4704a074485d2bc7','eval.checkpoint','best',0);
INSERT INTO run_settings VALUES('4704a074485d2bc7','eval.precision','fp32',0);
INSERT INTO run_settings VALUES('4704a074485d2bc7','eval.split','valid',1);
INSERT INTO run_settings VALUES('4704a074485d2bc7','eval.targets','0',0);
INSERT INTO run_settings VALUES('4704a074485d2bc7','eval.train_run','3d1e410eb46cdf43',1);
INSERT INTO run_settings VALUES('4704a074485d2bc7','eval.window','nonoverlapping',1);
INSERT INTO run_settings VALUES('4704a074485d2bc7','kind','eval',1);
INSERT INTO run_settings VALUES('4704a074485d2bc7','meaning','1',1);
INSERT INTO run_settings VALUES('4704a074485d2bc7','model.name','tiny',0);
INSERT INTO run_settings VALUES('4704a074485d2bc7','scale','mini',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','bench.mode','train',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','data.corpus','mini-wikitext103',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','data.dataset','wikitext103',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','data.fingerprint','',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','data.test_tokens','0',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','data.train_tokens','0',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','data.valid_tokens','0',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','data.vocab','0',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','kind','bench',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','meaning','1',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.adaptive_factor','4',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.cutoffs','none',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.dim','0',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.dropout','0',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.dropout_attention','0',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.dropout_relu','0',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.dropout_softmax','0',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.ffn','0',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.final_norm','false',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.heads','0',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.layers','0',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.name','tiny',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.position','rotary',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.rotary_base','10000',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.rotary_layout','adjacent_pairs',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','model.softmax','adaptive',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','scale','mini',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','train.L','64',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','train.clip','0',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','train.momentum','0.99',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','train.optimizer','nag',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','train.precision','fp32',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','train.seed','1',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','train.shard_tokens','0',1);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','train.shards','1',0);
INSERT INTO run_settings VALUES('dc48aa6a3bf6f14d','train.weight_decay','0',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','data.corpus','mini-wikitext103',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','data.dataset','wikitext103',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','data.fingerprint','',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','data.test_tokens','0',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','data.train_tokens','0',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','data.valid_tokens','0',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','data.vocab','0',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','kind','train',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','meaning','1',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.adaptive_factor','4',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.cutoffs','none',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.dim','0',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.dropout','0',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.dropout_attention','0',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.dropout_relu','0',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.dropout_softmax','0',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.ffn','0',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.final_norm','false',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.heads','0',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.layers','0',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.name','tiny',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.position','t5',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.softmax','adaptive',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.t5_buckets','32',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.t5_init_std','0',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.t5_max_distance','128',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','model.t5_multiplier','1',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','scale','mini',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.L','64',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.clip','0',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.lr','0',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.lr_init','0',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.lr_min','0',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.lr_shrink','1',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.momentum','0.99',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.optimizer','nag',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.period','0',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.period_multiplier','1',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.precision','fp32',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.schedule','cosine',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.seed','1',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.shard_tokens','0',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.shards','1',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.tail_quirk','false',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.updates','20',1);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.validate_every','0',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.warmup','0',0);
INSERT INTO run_settings VALUES('ef22ebd8b4bc3c3d','train.weight_decay','0',0);
CREATE TABLE position_losses( result_id INTEGER NOT NULL REFERENCES results(result_id), first INTEGER NOT NULL, last INTEGER NOT NULL, targets INTEGER NOT NULL, nll REAL, PRIMARY KEY(result_id,first)) STRICT, WITHOUT ROWID;
INSERT INTO position_losses VALUES(2,1,1,100,250.0);
CREATE TABLE group_losses( result_id INTEGER NOT NULL REFERENCES results(result_id), grouping TEXT NOT NULL CHECK(grouping IN('group','block')), first INTEGER NOT NULL, last INTEGER NOT NULL, name TEXT, targets INTEGER NOT NULL, nll REAL, hits INTEGER, PRIMARY KEY(result_id,grouping,first)) STRICT, WITHOUT ROWID;
INSERT INTO group_losses VALUES(2,'block',1,100,NULL,100,250.0,NULL);
INSERT INTO group_losses VALUES(2,'group',0,0,'all',100,250.0,40);
CREATE TABLE attention_heads( attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), text TEXT NOT NULL, layer INTEGER NOT NULL, head INTEGER NOT NULL, rows INTEGER NOT NULL, first_weight REAL, entropy REAL, distance REAL, logit_low REAL, logit_high REAL, slope REAL, bound_excess REAL, PRIMARY KEY(attempt_id,text,layer,head)) STRICT, WITHOUT ROWID;
INSERT INTO attention_heads VALUES(2,'natural',1,1,100,0.25,1.5,7.5,-2.5,3.5,0.5,-1.25);
CREATE TABLE attention_rollouts( attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), text TEXT NOT NULL, layers INTEGER NOT NULL, head INTEGER NOT NULL, distance INTEGER NOT NULL, weight REAL, PRIMARY KEY(attempt_id,text,layers,head,distance)) STRICT, WITHOUT ROWID;
INSERT INTO attention_rollouts VALUES(2,'natural',2,1,4,0.0625);
CREATE TABLE sources( source_id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, id TEXT NOT NULL REFERENCES runs(run_id), kind TEXT NOT NULL, name TEXT NOT NULL, current INTEGER NOT NULL CHECK(current IN(0,1)), attempt INTEGER NOT NULL CHECK(attempt>=1), dir TEXT NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, tokenizer TEXT, files TEXT, updates INTEGER, tokens_per_update INTEGER, final_loss_nats REAL, parameters INTEGER, code_id TEXT, registered_at TEXT NOT NULL, merged_from TEXT) STRICT;
CREATE TABLE IF NOT EXISTS "claim_verdicts"( artefact TEXT NOT NULL, scale TEXT NOT NULL, claim TEXT NOT NULL, statement TEXT NOT NULL, verdict TEXT NOT NULL  CHECK(verdict IN('supported','contradicted','mixed','not run','not judged')), evidence TEXT, judged_at TEXT NOT NULL, threshold REAL, effect REAL, error REAL, low REAL, high REAL, seeds INTEGER, split TEXT, runs TEXT, codes TEXT, cases TEXT, PRIMARY KEY(artefact,scale,claim)) STRICT;
INSERT INTO claim_verdicts VALUES('table5','mini','P1','ALiBi extrapolates','supported','1.001 <= 1.005','2026-11-21T10:00:00Z',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO claim_verdicts VALUES('table5','mini','P2','ALiBi is fast','mixed','1 of 2 cases hold, 1 fail','2026-11-22T10:00:00Z',1.0049999999999998934,1.25,0.5,0.5,2.0,5,'test','3d1e410eb46cdf43','c0de','[]');
CREATE INDEX runs_of_training ON runs(train_run_id);
CREATE INDEX points_of_run ON points(run_id);
CREATE UNIQUE INDEX one_running_attempt ON run_attempts(run_id) WHERE state='running';
CREATE UNIQUE INDEX one_current_result ON results(run_id) WHERE current=1;
CREATE INDEX results_of_run ON results(run_id);
CREATE TRIGGER an_attempt_ends_once BEFORE UPDATE OF attempt_id,uid,run_id,attempt,state,slot,device,backend,host,boot_id,pid,pid_start,blas,threads,code_id,program,started_at,ended_at,exit_code,signal,message,merged_from,choices ON run_attempts WHEN OLD.state<>'running' BEGIN SELECT RAISE(ABORT,'an ended attempt is never rewritten'); END;
CREATE UNIQUE INDEX one_current_source ON sources(id) WHERE current=1;
CREATE VIEW position_methods AS SELECT NULL AS position, NULL AS display, NULL AS place, NULL AS style, NULL AS bounded WHERE 0 UNION ALL SELECT 'sinusoidal','Sinusoidal',1,1,0 UNION ALL SELECT 'rotary','Rotary',2,2,0 UNION ALL SELECT 't5','T5 Bias',3,3,0 UNION ALL SELECT 'alibi','ALiBi',4,4,0 UNION ALL SELECT 'none','NoPE',5,6,0 UNION ALL SELECT 'learned','Learned',6,7,1 UNION ALL SELECT 'alibi_learned','ALiBi, learned slopes',7,8,0 UNION ALL SELECT 'kerple_log','KERPLE-log',8,9,0 UNION ALL SELECT 'kerple_power','KERPLE-power',9,10,0 UNION ALL SELECT 'sandwich','Sandwich',10,11,0 UNION ALL SELECT 'tisa','TISA',11,12,0 UNION ALL SELECT 'bam','BAM',13,14,0 UNION ALL SELECT 'hard_alibi','Hard-ALiBi',14,15,0 UNION ALL SELECT 'forget_gate','Forget gate',15,16,0 UNION ALL SELECT 'xpos','xPos',12,13,0;
CREATE VIEW run_origins AS
SELECT run_id, coalesce(
  (SELECT value FROM run_settings s WHERE s.run_id = r.run_id AND s.key = 'train.origin' AND s.hashed),
  (SELECT 'imported' FROM sources s WHERE s.id = r.run_id AND s.current = 1), 'trained') AS origin
FROM runs r
WHERE kind = 'train';
CREATE VIEW evaluation_settings AS
SELECT run_id,
  coalesce((SELECT value FROM run_settings s
    WHERE s.run_id = r.run_id AND s.key = 'eval.position_scaling'), 'none') AS position_scaling,
  coalesce((SELECT CAST(value AS REAL) FROM run_settings s
    WHERE s.run_id = r.run_id AND s.key = 'eval.position_scaling_factor'), 0.0)
    AS position_scaling_factor,
  coalesce((SELECT CAST(value AS INTEGER) FROM run_settings s
    WHERE s.run_id = r.run_id AND s.key = 'eval.attention_window'), 0) AS attention_window,
  coalesce((SELECT CAST(value AS INTEGER) FROM run_settings s
    WHERE s.run_id = r.run_id AND s.key = 'eval.attention_sinks'), 0) AS attention_sinks,
  (SELECT coalesce(group_concat(line, ' '), '') FROM (
    SELECT key || '=' || value AS line FROM run_settings s
    WHERE s.run_id = r.run_id AND s.hashed AND s.key NOT IN ('kind', 'scale', 'meaning',
      'eval.train_run', 'eval.checkpoint', 'eval.split', 'eval.window', 'eval.L', 'eval.stride',
      'eval.precision', 'eval.targets')
    ORDER BY s.key)) AS settings
FROM runs r
WHERE kind = 'eval';
CREATE VIEW training_settings AS
WITH
configs AS MATERIALIZED (
  SELECT config_id, min(run_id) AS run_id FROM runs WHERE kind = 'train' GROUP BY config_id),
kept AS MATERIALIZED (
  SELECT r.config_id, r.scale, r.dataset, r.corpus, r.model, r.position, r.L_train, s.key,
    coalesce(p.position || ':' || p.L_train || ':' || p.updates || ':' || substr(p.config_id, 1, 8),
      s.value) AS value
  FROM configs c
  JOIN runs r USING (run_id)
  JOIN run_settings s USING (run_id)
  LEFT JOIN runs p ON s.key = 'train.from' AND p.run_id = s.value
  WHERE s.hashed AND s.key <> 'train.seed'),
counted AS (
  SELECT *, count(*) OVER (PARTITION BY scale, dataset, corpus, model, position, L_train, key,
      value) AS same_n,
    sum(key = 'kind') OVER (PARTITION BY scale, dataset, corpus, model, position, L_train) AS all_n
  FROM kept),
shown AS MATERIALIZED (
  SELECT config_id, group_concat(key || '=' || value, ' ') AS settings
  FROM (SELECT * FROM counted WHERE same_n < all_n ORDER BY config_id, key)
  GROUP BY config_id)
SELECT r.run_id, coalesce(w.settings, '') AS settings
FROM runs r
LEFT JOIN shown w USING (config_id)
WHERE r.kind = 'train';
CREATE VIEW evaluations AS
SELECT e.*, trim((SELECT g.settings FROM training_settings g WHERE g.run_id = e.train_run_id)
  || ' ' || e.settings) AS all_settings
FROM evaluation_results e;
CREATE VIEW position_loss AS
SELECT scale, dataset, model, position, L_train, L_valid, split, protocol, stride, seed, first,
  last, targets, nll, nll / targets AS loss_nats, exp(nll / targets) AS perplexity, run_id,
  train_run_id, config_id, modified, precision, checkpoint, settings
FROM current_evaluations
JOIN position_losses USING (result_id);
CREATE VIEW attention AS
SELECT scale, dataset, model, position, L_train, L_valid, seed, text, layer, head, rows,
  first_weight, entropy, distance, logit_low, logit_high, slope, bound_excess, run_id,
  train_run_id, config_id, modified, checkpoint, settings
FROM current_evaluations
JOIN attention_heads USING (attempt_id);
CREATE VIEW target_groups AS
SELECT scale, dataset, model, position, L_train, L_valid, split, protocol, stride, seed,
  first AS number, name, targets, nll, nll / targets AS loss_nats,
  exp(nll / targets) AS perplexity, hits, hits * 1.0 / targets AS accuracy, run_id, train_run_id,
  config_id, modified, precision, checkpoint, settings, corpus
FROM current_evaluations
JOIN group_losses USING (result_id)
WHERE grouping = 'group';
CREATE VIEW attention_rollout AS
SELECT scale, dataset, model, position, L_train, L_valid, seed, text, layers, head, distance,
  weight, run_id, train_run_id, config_id, modified, checkpoint, settings
FROM current_evaluations
JOIN attention_rollouts USING (attempt_id);
CREATE VIEW target_blocks AS
SELECT scale, dataset, model, position, L_train, L_valid, split, protocol, stride, seed, first,
  last, targets, nll, nll / targets AS loss_nats, exp(nll / targets) AS perplexity, run_id,
  train_run_id, config_id, modified, precision, checkpoint, settings, corpus
FROM current_evaluations
JOIN group_losses USING (result_id)
WHERE grouping = 'block';
CREATE VIEW artefact_evaluations AS
SELECT p.artefact, p.point, e.scale, e.dataset, e.model, e.position, e.L_train, e.L_valid,
  coalesce(p.L_train_nominal, e.L_train) AS L_train_nominal,
  coalesce(p.L_valid_nominal, e.L_valid) AS L_valid_nominal,
  e.split, e.protocol, e.stride, e.first_window, e.precision, e.seed,
  e.perplexity, e.loss_nats, e.tokens, e.nonfinite, e.eval_wps, e.peak_memory_bytes,
  e.device, e.origin, e.run_id, e.train_run_id, e.config_id, e.code_id, e.finished_at,
  e.checkpoint, e.targets, e.modified, e.checkpoint_sha256, e.wall_seconds, e.attempt,
  e.corpus, e.backend,
  CASE e.protocol WHEN 'sliding' THEN coalesce(p.stride_nominal, e.stride) END AS stride_nominal,
  e.position_scaling, e.position_scaling_factor, e.attention_window, e.attention_sinks, e.settings,
  e.datastore_sha256, e.bits_per_byte, e.byte_perplexity, e.word_perplexity, e.bytes, e.words,
  e.documents, e.tokenizer, e.tokenizer_sha256, (SELECT g.settings FROM grid_settings g
    WHERE g.artefact = p.artefact AND g.scale = p.scale AND g.run_id = p.run_id) AS all_settings
FROM points p
JOIN evaluation_results e ON e.run_id = p.run_id;
CREATE VIEW trainings AS
SELECT r.scale, r.dataset, r.model, r.position, r.L_train,
  coalesce((SELECT min(p.L_train_nominal) FROM runs w JOIN points p ON p.run_id = w.run_id
    WHERE w.run_id = r.run_id OR w.train_run_id = r.run_id), r.L_train) AS L_train_nominal,
  r.seed, v.updates, v.tokens_per_update, coalesce(v.parameters, r.parameters) AS parameters,
  v.final_loss_nats, v.train_wps, v.peak_memory_bytes, v.wall_seconds,
  coalesce(a.device, a.slot) AS device, r.run_id, r.config_id, a.code_id,
  a.ended_at AS finished_at,
  o.origin, r.precision, r.modified, v.best_sha256, v.last_sha256, a.attempt, r.corpus, a.backend,
  CASE WHEN NOT EXISTS (SELECT 1 FROM run_attempts b
    WHERE b.run_id = a.run_id AND b.attempt < a.attempt
    AND coalesce(b.ranks, 1) <> coalesce(a.ranks, 1)
    AND EXISTS (SELECT 1 FROM checkpoint_files c WHERE c.attempt_id = b.attempt_id)
    AND NOT EXISTS (SELECT 1 FROM run_attempts d WHERE d.run_id = b.run_id
      AND d.attempt BETWEEN b.attempt AND a.attempt - 1 AND d.state = 'done'))
    THEN coalesce(a.ranks, 1) END AS ranks
FROM results v
JOIN runs r ON r.run_id = v.run_id
JOIN run_origins o ON o.run_id = v.run_id
JOIN run_attempts a ON a.attempt_id = v.attempt_id
WHERE v.current = 1 AND v.kind = 'train'
AND NOT EXISTS (SELECT 1 FROM sources s WHERE s.uid = a.uid)
UNION ALL
SELECT r.scale, r.dataset, r.model, r.position, r.L_train,
  coalesce((SELECT min(p.L_train_nominal) FROM runs w JOIN points p ON p.run_id = w.run_id
    WHERE w.run_id = r.run_id OR w.train_run_id = r.run_id), r.L_train),
  r.seed, s.updates, s.tokens_per_update, coalesce(s.parameters, r.parameters), s.final_loss_nats,
  NULL, NULL, NULL, 'imported', r.run_id, r.config_id, s.code_id, s.registered_at, o.origin,
  r.precision, r.modified, s.sha256, s.sha256, s.attempt, r.corpus, 'none', 1
FROM sources s
JOIN runs r ON r.run_id = s.id
JOIN run_origins o ON o.run_id = s.id
WHERE s.current = 1;
CREATE VIEW benchmarks AS
SELECT r.position, r.L_train, r.mode, v.batch_tokens, v.wps, v.peak_memory_bytes, v.mfu,
  coalesce(a.device, a.slot) AS device, r.scale, r.dataset, r.model,
  coalesce((SELECT min(p.L_train_nominal) FROM points p WHERE p.run_id = r.run_id), r.L_train)
    AS L_train_nominal,
  r.precision, r.seed, v.wall_seconds, r.run_id, r.config_id, a.code_id,
  a.ended_at AS finished_at, r.modified, r.parameters, a.attempt, r.corpus, a.backend, r.L_valid,
  coalesce((SELECT min(p.L_valid_nominal) FROM points p WHERE p.run_id = r.run_id), r.L_valid)
    AS L_valid_nominal,
  v.batch_tokens / coalesce(r.L_valid, r.L_train) AS rows,
  (a.backend = 'cpu' AND v.cpu_share < 0.95) OR v.switches_per_s > 50 AS noisy
FROM results v
JOIN runs r ON r.run_id = v.run_id
JOIN run_attempts a ON a.attempt_id = v.attempt_id
WHERE v.current = 1 AND v.kind = 'bench';
CREATE VIEW curves AS
SELECT r.scale, r.dataset, r.model, r.position, r.L_train, r.seed, r.run_id, c.split, c.step,
  c.loss_nats, c.lr, c.grad_norm, c.epoch, c.perplexity, c.best, a.attempt, o.origin
FROM runs r
JOIN run_origins o ON o.run_id = r.run_id
JOIN run_attempts a ON a.run_id = r.run_id
JOIN curve_points c ON c.attempt_id = a.attempt_id
LEFT JOIN results v ON v.run_id = r.run_id AND v.current = 1
LEFT JOIN run_attempts shown ON shown.attempt_id = v.attempt_id
WHERE (shown.attempt IS NULL OR a.attempt <= shown.attempt OR a.slot = 'imported')
AND NOT EXISTS (
  SELECT 1 FROM run_attempts b
  JOIN curve_points d ON d.attempt_id = b.attempt_id AND d.split = c.split AND d.step = c.step
  WHERE b.run_id = r.run_id AND b.attempt > a.attempt
  AND (shown.attempt IS NULL OR b.attempt <= shown.attempt OR b.slot = 'imported'));
CREATE VIEW paper_values AS
SELECT artefact, dataset, panel, series, method, params, L_train, L_valid, split, protocol, stride,
  x_name, x, metric, value, unit, note, source, position, line
FROM paper_cells;
CREATE VIEW comparison AS
WITH
metrics(kind, mode, metric, unit) AS (VALUES
  ('eval', NULL, 'perplexity', 'ppl'), ('bench', 'train', 'train_wps', 'words/s'),
  ('bench', 'train', 'memory_gb', 'GB'), ('bench', 'eval', 'eval_wps', 'words/s')),
wanted AS (
  SELECT DISTINCT p.artefact, r.scale, r.dataset, r.position,
    coalesce(p.L_train_nominal, r.L_train) AS L_train_nominal,
    coalesce(p.L_valid_nominal, r.L_valid) AS L_valid_nominal, r.split, r.protocol, r.stride,
    CASE r.protocol WHEN 'sliding' THEN coalesce(p.stride_nominal, r.stride) END AS stride_nominal,
    r.config_id, r.run_id, m.metric, m.unit, max(r.modified, coalesce(t.modified, 0)) AS modified,
    coalesce(i.origin, 'trained') AS origin, coalesce(a.device, a.slot) AS device,
    CASE m.metric WHEN 'perplexity' THEN v.perplexity
      WHEN 'memory_gb' THEN v.peak_memory_bytes / 1e9 ELSE v.wps END AS value,
    CASE m.metric WHEN 'memory_gb' THEN v.peak_memory_bytes IS NOT NULL
      ELSE v.result_id IS NOT NULL END AS done,
    CASE WHEN v.result_id IS NOT NULL THEN NULL
      WHEN r.kind = 'eval' AND r.L_valid > r.L_train
        AND r.position IN (SELECT position FROM position_methods WHERE bounded) THEN 'not defined'
      ELSE (SELECT f.state FROM run_attempts f WHERE f.run_id = coalesce(r.train_run_id, r.run_id)
        ORDER BY f.attempt DESC LIMIT 1) END AS fate, coalesce(s.settings, '') AS settings
  FROM points p
  JOIN runs r ON r.run_id = p.run_id
  JOIN metrics m ON m.kind = r.kind AND m.mode IS r.mode
  LEFT JOIN evaluation_settings s ON s.run_id = p.run_id
  LEFT JOIN runs t ON t.run_id = r.train_run_id
  LEFT JOIN run_origins i ON i.run_id = coalesce(r.train_run_id, r.run_id)
  LEFT JOIN results v ON v.run_id = r.run_id AND v.current = 1
  LEFT JOIN run_attempts a ON a.attempt_id = v.attempt_id),
counted AS (
  SELECT *, CASE WHEN done AND metric <> 'perplexity' THEN device END AS machine,
    sum(done) OVER (PARTITION BY artefact, scale, config_id, L_train_nominal, L_valid_nominal,
      stride_nominal, metric) AS done_n
  FROM wanted),
centred AS (
  SELECT *, value - avg(value) OVER (PARTITION BY artefact, scale, config_id, L_train_nominal,
    L_valid_nominal, stride_nominal, metric, machine) AS off
  FROM counted WHERE done OR done_n = 0),
averaged AS (
  SELECT artefact, scale, dataset, position, L_train_nominal, L_valid_nominal, split, protocol,
    stride, stride_nominal, config_id, metric, unit, max(modified) AS modified,
    CASE WHEN count(value) < sum(done) THEN 'not finite' WHEN sum(done) > 0 THEN 'done'
      WHEN max(fate = 'not defined') THEN 'not defined'
      WHEN max(fate = 'diverged') THEN 'diverged' ELSE 'not run' END AS state,
    sum(done) AS seeds, CASE WHEN count(value) = sum(done) THEN avg(value) END AS ours,
    CASE WHEN count(value) = sum(done) AND count(value) > 1
      THEN sqrt(sum(off * off) / (count(value) - 1)) END AS ours_std,
    group_concat(DISTINCT CASE WHEN done THEN device END) AS device,
    group_concat(DISTINCT origin) AS origin, settings
  FROM centred
  GROUP BY artefact, scale, config_id, L_train_nominal, L_valid_nominal, stride_nominal, metric,
    machine),
cells AS (
  SELECT artefact, position, split, protocol, stride, metric, value, x_name, x,
    lower(replace(replace(dataset, '-', ''), ' ', '')) AS dataset,
    coalesce(L_train, CASE WHEN x_name IN ('L_train', 'input_length') THEN x END) AS L_train,
    coalesce(L_valid, CASE WHEN x_name = 'L_valid' THEN x END) AS L_valid
  FROM paper_cells
  WHERE position IS NOT NULL
  AND (x_name IS NULL OR x_name IN ('L_train', 'L_valid', 'input_length', 'train_wps'))),
theirs AS (
  SELECT * FROM cells
  UNION ALL
  SELECT artefact, position, split, protocol, stride, x_name, x, NULL, NULL, dataset, L_train,
    L_valid
  FROM cells WHERE x_name = 'train_wps')
SELECT o.artefact, o.scale, o.position, o.L_train_nominal, o.L_valid_nominal, o.metric,
  o.ours, o.ours_std, o.seeds, t.value AS paper, o.ours - t.value AS delta,
  o.dataset, o.split, o.protocol, o.stride, o.stride_nominal, o.config_id, o.modified,
  o.unit, o.device, o.origin, o.state, o.settings
FROM averaged o
LEFT JOIN theirs t ON o.scale = 'paper' AND o.modified = 0
  AND t.artefact = o.artefact AND t.position = o.position AND t.metric = o.metric
  AND t.L_train = o.L_train_nominal AND (t.dataset IS NULL OR t.dataset = o.dataset)
  AND CASE o.metric
    WHEN 'perplexity' THEN t.L_valid = o.L_valid_nominal AND t.split = o.split
      AND t.protocol = o.protocol AND t.stride IS o.stride_nominal
    WHEN 'eval_wps' THEN coalesce(t.L_valid, t.L_train)
      = coalesce(o.L_valid_nominal, o.L_train_nominal)
    ELSE 1 END;
CREATE VIEW attempts AS
SELECT run_id, attempt, state, coalesce(device, slot) AS device, host, blas, threads, started_at,
  ended_at, exit_code, signal, message, dir || '/log' AS log_path,
  backend, code_id, program, slot, pid, dir, merged_from,
  EXISTS (SELECT 1 FROM results v WHERE v.attempt_id = t.attempt_id AND v.current = 1)
    AS current_result, choices, CASE WHEN device IS NOT NULL THEN coalesce(ranks, 1) END AS ranks
FROM run_attempts t;
CREATE VIEW claims AS
SELECT claim, statement, verdict, evidence, scale, artefact, judged_at, threshold, effect, error,
  low, high, seeds, split, runs, codes, cases
FROM claim_verdicts;
CREATE VIEW progress AS
SELECT a.run_id, a.attempt, r.kind, r.scale, r.position, r.L_train, r.L_valid, r.seed,
  coalesce(a.device, a.slot) AS device, a.slot, a.host, a.pid, a.started_at, n.done, n.total,
  n.loss_nats, n.wps, n.updated_at,
  CASE WHEN a.device IS NOT NULL THEN coalesce(a.ranks, 1) END AS ranks
FROM run_attempts a
JOIN runs r ON r.run_id = a.run_id
LEFT JOIN progress_now n ON n.attempt_id = a.attempt_id
WHERE a.state = 'running';
CREATE VIEW run_list AS
SELECT run_id, kind, scale, dataset, model, position, L_train, L_valid, split, protocol, stride,
  mode, seed, config_id, train_run_id, modified, parameters, spec, created_at,
  CASE WHEN EXISTS (SELECT 1 FROM results v WHERE v.run_id = r.run_id AND v.current = 1)
    OR EXISTS (SELECT 1 FROM sources s WHERE s.id = r.run_id AND s.current = 1) THEN 'done'
    ELSE coalesce((SELECT nullif(a.state, 'done') FROM run_attempts a WHERE a.run_id = r.run_id
      ORDER BY a.attempt DESC LIMIT 1), 'none') END AS state
FROM runs r;
CREATE VIEW artefact_points AS
SELECT artefact, scale, point, run_id, L_train_nominal, L_valid_nominal, stride_nominal
FROM points;
CREATE VIEW wanted_evaluations AS
WITH RECURSIVE diverged(run_id) AS (
  SELECT a.run_id FROM run_attempts a
  WHERE a.state = 'diverged' AND NOT EXISTS (
    SELECT 1 FROM run_attempts n WHERE n.run_id = a.run_id AND n.attempt > a.attempt)
  UNION
  SELECT c.run_id FROM diverged d
  JOIN run_settings c ON c.key = 'train.from' AND c.value = d.run_id
  WHERE NOT EXISTS (SELECT 1 FROM results v WHERE v.run_id = c.run_id AND v.current = 1)
  AND NOT EXISTS (SELECT 1 FROM sources s WHERE s.id = c.run_id AND s.current = 1))
SELECT p.artefact, r.scale, r.dataset, r.corpus, r.model, r.position,
  coalesce(m.display, r.position) AS method, coalesce(m.place, 99) AS place,
  'L=' || r.L_train || CASE WHEN r.L_train <> p.L_train_nominal
    THEN ' (' || p.L_train_nominal || ')' ELSE '' END AS trained_on,
  r.L_train, coalesce(p.L_train_nominal, r.L_train) AS L_train_nominal,
  r.L_valid, coalesce(p.L_valid_nominal, r.L_valid) AS L_valid_nominal,
  r.split, r.protocol, r.stride, r.first_window, r.precision, r.seed,
  e.perplexity, e.loss_nats, e.tokens, e.nonfinite, e.eval_wps, e.peak_memory_bytes,
  q.parameters, t.updates, t.tokens_per_update,
  CASE t.ranks WHEN 1 THEN t.train_wps END AS train_wps,
  CASE t.ranks WHEN 1 THEN t.peak_memory_bytes END AS train_memory_bytes, b.wps AS alone_wps,
  b.peak_memory_bytes AS alone_memory_bytes, b.device AS alone_device,
  CASE WHEN e.nonfinite > 0 THEN 'not finite'
    WHEN m.bounded AND r.L_valid > r.L_train THEN 'not defined'
    WHEN e.run_id IS NULL AND r.train_run_id IN (SELECT run_id FROM diverged)
      THEN 'diverged' END AS state,
  coalesce(e.modified, r.modified) AS modified, r.run_id, r.train_run_id, r.config_id,
  e.code_id, e.device, e.finished_at, p.point, b.noisy AS alone_noisy, r.checkpoint, r.targets,
  s.position_scaling, s.position_scaling_factor, s.attention_window, s.attention_sinks, s.settings,
  e.bits_per_byte, e.byte_perplexity, e.word_perplexity, e.tokenizer, t.ranks AS train_ranks
FROM points p
JOIN runs r ON r.run_id = p.run_id AND r.kind = 'eval'
JOIN evaluation_settings s ON s.run_id = p.run_id
JOIN runs q ON q.run_id = r.train_run_id
LEFT JOIN position_methods m ON m.position = r.position
LEFT JOIN evaluation_results e ON e.run_id = r.run_id
LEFT JOIN trainings t ON t.run_id = r.train_run_id
LEFT JOIN (
  SELECT o.artefact, o.scale, w.position, w.L_train, w.seed, w.run_id, min(o.point)
  FROM points o JOIN runs w ON w.run_id = o.run_id AND w.kind = 'bench' AND w.mode = 'train'
  GROUP BY o.artefact, o.scale, w.position, w.L_train, w.seed) alone
  ON alone.artefact = p.artefact AND alone.scale = p.scale AND alone.position = r.position
  AND alone.L_train = r.L_train AND alone.seed = r.seed
LEFT JOIN benchmarks b ON b.run_id = alone.run_id;
CREATE VIEW wanted_benchmarks AS
SELECT p.artefact, r.scale, r.dataset, r.corpus, r.model, r.position,
  coalesce(m.display, r.position) AS method, coalesce(m.place, 99) AS place,
  'L=' || r.L_train || CASE WHEN r.L_train <> p.L_train_nominal
    THEN ' (' || p.L_train_nominal || ')' ELSE '' END AS trained_on,
  r.L_train, coalesce(p.L_train_nominal, r.L_train) AS L_train_nominal,
  r.precision, r.seed, r.mode, b.wps, b.peak_memory_bytes, b.batch_tokens, b.mfu,
  b.device AS machine, coalesce(b.modified, r.modified) AS modified, r.run_id, r.config_id,
  b.code_id, b.finished_at, p.point,
  r.L_valid, coalesce(p.L_valid_nominal, r.L_valid) AS L_valid_nominal, b.rows, b.noisy,
  r.parameters
FROM points p
JOIN runs r ON r.run_id = p.run_id AND r.kind = 'bench'
LEFT JOIN position_methods m ON m.position = r.position
LEFT JOIN benchmarks b ON b.run_id = r.run_id;
CREATE VIEW settings AS
SELECT run_id, key, value FROM run_settings
UNION ALL
SELECT r.run_id, t.key, t.value
FROM runs r
JOIN run_settings t ON t.run_id = r.train_run_id
WHERE substr(t.key, 1, 5) IN ('data.', 'train')
OR (substr(t.key, 1, 6) = 'model.' AND t.key <> 'model.name');
CREATE VIEW grid_settings AS
WITH
asked AS (
  SELECT DISTINCT p.artefact, p.scale, p.run_id, t.config_id, t.run_id AS train_id
  FROM points p
  JOIN runs r ON r.run_id = p.run_id
  JOIN runs t ON t.run_id = coalesce(r.train_run_id, p.run_id)),
configs AS MATERIALIZED (
  SELECT artefact, scale, config_id, min(train_id) AS train_id
  FROM asked GROUP BY artefact, scale, config_id),
kept AS MATERIALIZED (
  SELECT c.artefact, c.scale, c.config_id, r.kind, r.dataset, r.corpus, r.model, r.position,
    r.L_train, s.key, s.value
  FROM configs c
  JOIN runs r ON r.run_id = c.train_id
  JOIN run_settings s ON s.run_id = c.train_id
  WHERE s.key NOT IN ('train.seed', 'train.from') AND substr(s.key, 1, 6) <> 'bench.'
  UNION ALL
  SELECT c.artefact, c.scale, c.config_id, r.kind, r.dataset, r.corpus, r.model, r.position,
    r.L_train, 'train.from',
    coalesce(p.position || ':' || p.L_train || ':' || p.updates, s.value, 'none')
  FROM configs c
  JOIN runs r ON r.run_id = c.train_id
  LEFT JOIN run_settings s ON s.run_id = c.train_id AND s.key = 'train.from'
  LEFT JOIN runs p ON p.run_id = s.value),
varying AS (
  SELECT DISTINCT artefact, scale, key FROM (
    SELECT artefact, scale, key FROM kept
    GROUP BY artefact, scale, kind, dataset, corpus, model, position, L_train, key
    HAVING count(DISTINCT value) > 1)),
shown AS MATERIALIZED (
  SELECT artefact, scale, config_id, group_concat(key || '=' || value, ' ') AS settings FROM (
    SELECT DISTINCT k.artefact, k.scale, k.config_id, k.key, k.value
    FROM kept k
    JOIN varying v ON v.artefact = k.artefact AND v.scale = k.scale AND v.key = k.key
    ORDER BY k.artefact, k.scale, k.config_id, k.key)
  GROUP BY artefact, scale, config_id)
SELECT a.artefact, a.scale, a.run_id,
  trim(coalesce(w.settings, '') || ' ' || coalesce(s.settings, '')) AS settings
FROM asked a
LEFT JOIN shown w
  ON w.artefact = a.artefact AND w.scale = a.scale AND w.config_id = a.config_id
LEFT JOIN evaluation_settings s ON s.run_id = a.run_id;
CREATE VIEW evaluation_results AS
SELECT e.scale, e.dataset, e.model, e.position, e.L_train, e.L_valid,
  coalesce((SELECT min(p.L_train_nominal) FROM points p WHERE p.run_id = e.run_id), e.L_train)
    AS L_train_nominal,
  coalesce((SELECT min(p.L_valid_nominal) FROM points p WHERE p.run_id = e.run_id), e.L_valid)
    AS L_valid_nominal,
  e.split, e.protocol, e.stride, e.first_window, e.precision, e.seed,
  v.perplexity, v.loss_nats, v.tokens, v.nonfinite, v.eval_wps, v.peak_memory_bytes,
  coalesce(a.device, a.slot) AS device, o.origin, e.run_id, e.train_run_id, e.config_id,
  a.code_id, a.ended_at AS finished_at,
  e.checkpoint, e.targets_asked AS targets, e.modified, v.checkpoint_sha256,
  v.wall_seconds, a.attempt, e.corpus, a.backend, e.position_scaling, e.position_scaling_factor,
  e.attention_window, e.attention_sinks, e.settings, v.datastore_sha256,
  v.loss_nats * v.tokens / (v.bytes * 0.6931471805599453) AS bits_per_byte,
  CASE WHEN v.loss_nats * v.tokens < 709.0 * v.bytes
    THEN exp(v.loss_nats * v.tokens / v.bytes) END AS byte_perplexity,
  CASE WHEN v.loss_nats * v.tokens < 709.0 * v.words
    THEN exp(v.loss_nats * v.tokens / v.words) END AS word_perplexity,
  v.bytes, v.words, v.documents, v.tokenizer, v.tokenizer_sha256
FROM current_evaluations e
JOIN results v ON v.result_id = e.result_id
JOIN run_attempts a ON a.attempt_id = e.attempt_id
JOIN run_origins o ON o.run_id = e.train_run_id;
CREATE VIEW current_evaluations AS
SELECT r.scale, r.dataset, r.model, r.position, r.L_train, r.L_valid, r.split, r.protocol, r.stride,
  r.seed, r.run_id, r.train_run_id, r.config_id, max(r.modified, t.modified) AS modified,
  r.precision, r.checkpoint, s.settings, r.corpus, r.first_window, r.targets AS targets_asked,
  s.position_scaling, s.position_scaling_factor, s.attention_window, s.attention_sinks,
  v.result_id, v.attempt_id
FROM results v
JOIN runs r ON r.run_id = v.run_id
JOIN runs t ON t.run_id = r.train_run_id
JOIN evaluation_settings s ON s.run_id = v.run_id
WHERE v.current = 1 AND v.kind = 'eval';
COMMIT;
PRAGMA application_id=1095518530;
PRAGMA user_version=7;
