-- The dump of the results.db that commit c9c3c145 (schema version 1) wrote when it ran g/grid.yaml, without the paper's
-- numbers, host and path. Never change it; see tests/cli/test_old_databases.sh.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE checkpoint_files( attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), sequence INTEGER NOT NULL, step INTEGER NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER, best INTEGER NOT NULL CHECK(best IN(0,1)), PRIMARY KEY(attempt_id,sequence)) STRICT;
INSERT INTO "checkpoint_files" VALUES(1,9,5,'update-000000005.safetensors','f3ed85ba874c9bdeed62a11d6f781597f326eec6a7b14ed0957e4175aa1fbd30',95584,1);
INSERT INTO "checkpoint_files" VALUES(1,16,10,'update-000000010.safetensors','1c4346f82501b614b8d8e9b780cc1931190651158de9711d79a4a481fa86351a',95584,1);
INSERT INTO "checkpoint_files" VALUES(5,9,5,'update-000000005.safetensors','735dcc9ca68ce9550d0d192c497622b5dfc28efa4550d02a134b31f21ffb8ed5',95648,1);
INSERT INTO "checkpoint_files" VALUES(5,16,10,'update-000000010.safetensors','0d2cb8b2637e3671c8baecf11a9e396c035dc04f7a4b67620541f85b3003c1ce',95648,1);
CREATE TABLE claim_verdicts( artefact TEXT NOT NULL, scale TEXT NOT NULL, claim TEXT NOT NULL, statement TEXT NOT NULL, verdict TEXT NOT NULL CHECK(verdict IN('supported','contradicted','not run')), evidence TEXT, judged_at TEXT NOT NULL, PRIMARY KEY(artefact,scale,claim)) STRICT;
CREATE TABLE curve_points( attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), split TEXT NOT NULL CHECK(split IN('train','valid')), step INTEGER NOT NULL, loss_nats REAL, lr REAL, grad_norm REAL, epoch INTEGER, perplexity REAL, best INTEGER CHECK(best IN(0,1)), PRIMARY KEY(attempt_id,split,step)) STRICT, WITHOUT ROWID;
INSERT INTO "curve_points" VALUES(1,'train',1,8.52926506570919329419e+00,0.0,4.80240363862466,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',2,8.53338989394251257181e+00,0.00125,8.62880900509565584854e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',3,8.36055619735270738601e+00,0.0025,6.29556566431955122453e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',4,8.18711179657839238643e+00,0.00375,4.15025337091262347399e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',5,8.22993693570606410503e+00,0.005,6.4024634706512255633e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',6,8.52956547203939408063e+00,4.66506350946109711597e-03,1.12375934320573573894e+01,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',7,8.76911471085622906684e+00,0.00375,5.25848460182123567108e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',8,8.23805372603237628936e+00,0.0025,3.99455018848894471972e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',9,8.12607903840641121462e+00,1.25000000000000067654e-03,3.96264369232330793124e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',10,8.19889389257878,3.34936490538903259162e-04,4.49953100614737877549e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'valid',5,8.90232583545148337123e+00,NULL,NULL,1,7.34904634972043822914e+03,1);
INSERT INTO "curve_points" VALUES(1,'valid',10,8.88462780378759,NULL,NULL,1,7.22012687023785292711e+03,1);
INSERT INTO "curve_points" VALUES(5,'train',1,8.55185367373044158512e+00,0.0,4.51355338201199796088e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',2,8.51533167087473,0.00125,6.56334817270429926594e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',3,8.32876280741766095161e+00,0.0025,6.25484661397797836457e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',4,8.17803321941755712032e+00,0.00375,3.85142895731723,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',5,8.22247830207925289869e+00,0.005,7.17777106750874160923e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',6,8.51226673810742795467e+00,4.66506350946109711597e-03,1.6498656675524106419e+01,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',7,8.75713666703086346387e+00,0.00375,4.89235110285908536553e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',8,8.20943088782951235771e+00,0.0025,3.7041483214980206462e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',9,8.12934046114484409883e+00,1.25000000000000067654e-03,3.90939175019829,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',10,8.19660823885351419448e+00,3.34936490538903259162e-04,4.05469882261194936035e+00,NULL,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'valid',5,8.87340008281171321868e+00,NULL,NULL,1,7.13951469268748132885e+03,1);
INSERT INTO "curve_points" VALUES(5,'valid',10,8.85636346749961411717e+00,NULL,NULL,1,7.01891177712341141157e+03,1);
CREATE TABLE paper_cells( artefact TEXT NOT NULL REFERENCES paper_files(artefact) ON DELETE CASCADE, line INTEGER NOT NULL, dataset TEXT, panel TEXT, series TEXT, method TEXT, params TEXT, L_train INTEGER, L_valid INTEGER, split TEXT, protocol TEXT, stride INTEGER, x_name TEXT, x REAL, metric TEXT NOT NULL, value REAL, unit TEXT, note TEXT, source TEXT, position TEXT, PRIMARY KEY(artefact,line)) STRICT;
CREATE TABLE paper_files( artefact TEXT PRIMARY KEY, sha256 TEXT NOT NULL, read_at TEXT NOT NULL) STRICT;
CREATE TABLE points( artefact TEXT NOT NULL, scale TEXT NOT NULL, point INTEGER NOT NULL, run_id TEXT NOT NULL REFERENCES runs(run_id), L_train_nominal INTEGER, L_valid_nominal INTEGER, stride_nominal INTEGER, PRIMARY KEY(artefact,scale,point)) STRICT;
INSERT INTO "points" VALUES('g','none',0,'4219a3da95af1d7a',32,NULL,NULL);
INSERT INTO "points" VALUES('g','none',1,'355aa1605217ad6a',32,32,NULL);
INSERT INTO "points" VALUES('g','none',2,'e9adaec8e7b1b180',32,64,NULL);
INSERT INTO "points" VALUES('g','none',3,'db253c97668c4241',32,16,1);
INSERT INTO "points" VALUES('g','none',4,'ecec62697e0ad8a9',32,NULL,NULL);
INSERT INTO "points" VALUES('g','none',5,'76266279faf7f5f1',32,32,NULL);
INSERT INTO "points" VALUES('g','none',6,'b2e05d1a0dcf8a4d',32,64,NULL);
CREATE TABLE progress_now( attempt_id INTEGER PRIMARY KEY REFERENCES run_attempts(attempt_id), sequence INTEGER NOT NULL, done REAL, total REAL, loss_nats REAL, wps REAL, updated_at TEXT NOT NULL) STRICT;
CREATE TABLE results( result_id INTEGER PRIMARY KEY, attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), run_id TEXT NOT NULL REFERENCES runs(run_id), kind TEXT NOT NULL CHECK(kind IN('train','eval','bench')), sequence INTEGER NOT NULL, current INTEGER NOT NULL CHECK(current IN(0,1)), late INTEGER NOT NULL CHECK(late IN(0,1)), peak_memory_bytes INTEGER, wall_seconds REAL, updates INTEGER, tokens_per_update INTEGER, parameters INTEGER, final_loss_nats REAL, train_wps REAL, best_checkpoint TEXT, best_sha256 TEXT, last_checkpoint TEXT, last_sha256 TEXT, loss_nats REAL, perplexity REAL, tokens INTEGER, nonfinite INTEGER, eval_wps REAL, checkpoint_sha256 TEXT, wps REAL, mfu REAL, batch_tokens INTEGER, UNIQUE(attempt_id,sequence), CHECK(current=0 OR late=0), CHECK(kind<>'train' OR(updates IS NOT NULL AND final_loss_nats IS NOT NULL)), CHECK(kind<>'eval' OR(tokens IS NOT NULL AND nonfinite IS NOT NULL  AND(nonfinite=0)=(perplexity IS NOT NULL))), CHECK(kind<>'bench' OR wps IS NOT NULL)) STRICT;
INSERT INTO "results" VALUES(1,1,'4219a3da95af1d7a','train',17,1,0,24199168,0.211344,10,512,22656,8.19889389257878,5.85093380267918255393e+04,'update-000000010.safetensors','1c4346f82501b614b8d8e9b780cc1931190651158de9711d79a4a481fa86351a','update-000000010.safetensors','1c4346f82501b614b8d8e9b780cc1931190651158de9711d79a4a481fa86351a',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(2,2,'db253c97668c4241','eval',3,1,0,19517440,0.002816,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,9.18944141268730163574e+00,9.7931791054868263021e+03,64,0,5.45609548167092943925e+04,'1c4346f82501b614b8d8e9b780cc1931190651158de9711d79a4a481fa86351a',NULL,NULL,NULL);
INSERT INTO "results" VALUES(3,3,'355aa1605217ad6a','eval',3,1,0,19763200,1.52179999999999988891e-02,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,8.88462780378759,7.22012687023785292711e+03,640,0,547008.547008547,'1c4346f82501b614b8d8e9b780cc1931190651158de9711d79a4a481fa86351a',NULL,NULL,NULL);
INSERT INTO "results" VALUES(4,4,'e9adaec8e7b1b180','eval',4,1,0,19800064,0.007179,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,8.82971333861351,6.8343273970242280485e+03,640,0,6.13026819923371658676e+05,'1c4346f82501b614b8d8e9b780cc1931190651158de9711d79a4a481fa86351a',NULL,NULL,NULL);
INSERT INTO "results" VALUES(5,5,'ecec62697e0ad8a9','train',17,1,0,24375296,0.200949,10,512,22656,8.19660823885351419448e+00,3.95485827116431610198e+04,'update-000000010.safetensors','0d2cb8b2637e3671c8baecf11a9e396c035dc04f7a4b67620541f85b3003c1ce','update-000000010.safetensors','0d2cb8b2637e3671c8baecf11a9e396c035dc04f7a4b67620541f85b3003c1ce',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(6,6,'76266279faf7f5f1','eval',3,1,0,19845120,0.014903,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,8.85636346749961411717e+00,7.01891177712341141157e+03,640,0,6.6945606694560672624e+05,'0d2cb8b2637e3671c8baecf11a9e396c035dc04f7a4b67620541f85b3003c1ce',NULL,NULL,NULL);
INSERT INTO "results" VALUES(7,7,'b2e05d1a0dcf8a4d','eval',4,1,0,19881984,0.001903,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,8.80185268707573342794e+00,6.64654657729374230253e+03,640,0,8.12182741116751334611e+05,'0d2cb8b2637e3671c8baecf11a9e396c035dc04f7a4b67620541f85b3003c1ce',NULL,NULL,NULL);
CREATE TABLE run_attempts( attempt_id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, run_id TEXT NOT NULL REFERENCES runs(run_id), attempt INTEGER NOT NULL CHECK(attempt>=1), state TEXT NOT NULL  CHECK(state IN('running','done','failed','diverged','lost','cancelled')), slot TEXT, device TEXT, backend TEXT, host TEXT, boot_id TEXT, pid INTEGER, pid_start INTEGER, blas TEXT, threads INTEGER, code_id TEXT, program TEXT, dir TEXT NOT NULL, started_at TEXT NOT NULL, ended_at TEXT, exit_code INTEGER, signal INTEGER, message TEXT, merged_from TEXT, UNIQUE(run_id,attempt), CHECK((state='running')=(ended_at IS NULL))) STRICT;
INSERT INTO "run_attempts" VALUES(1,'d9f13620d6323ac3a7e359faba39123b','4219a3da95af1d7a',1,'done','cpu','AMD EPYC, 1 thread, v3 kernels','cpu','here','boot',14221,609896,'oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi','runs/4219a3da95af1d7a/1','2026-11-24T15:37:54Z','2026-11-24T15:37:55Z',0,NULL,NULL,NULL);
INSERT INTO "run_attempts" VALUES(2,'a111c8285d29de7fd7905eba3f78ee76','db253c97668c4241',1,'done','cpu','AMD EPYC, 1 thread, v3 kernels','cpu','here','boot',14231,609926,'oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi','runs/db253c97668c4241/1','2026-11-24T15:37:55Z','2026-11-24T15:37:55Z',0,NULL,NULL,NULL);
INSERT INTO "run_attempts" VALUES(3,'cc71b28e82050a52c008a732e29e387d','355aa1605217ad6a',1,'done','cpu','AMD EPYC, 1 thread, v3 kernels','cpu','here','boot',14232,609938,'oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi','runs/355aa1605217ad6a/1','2026-11-24T15:37:55Z','2026-11-24T15:37:55Z',0,NULL,NULL,NULL);
INSERT INTO "run_attempts" VALUES(4,'8006d2daa3d565a46ba3578d2e2e7848','e9adaec8e7b1b180',1,'done','cpu','AMD EPYC, 1 thread, v3 kernels','cpu','here','boot',14232,609938,'oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi','runs/355aa1605217ad6a/1','2026-11-24T15:37:55Z','2026-11-24T15:37:55Z',0,NULL,NULL,NULL);
INSERT INTO "run_attempts" VALUES(5,'259c838167200d03bc042d3687e1d556','ecec62697e0ad8a9',1,'done','cpu','AMD EPYC, 1 thread, v3 kernels','cpu','here','boot',14233,609951,'oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi','runs/ecec62697e0ad8a9/1','2026-11-24T15:37:55Z','2026-11-24T15:37:55Z',0,NULL,NULL,NULL);
INSERT INTO "run_attempts" VALUES(6,'03112a0b85c8187499ed9896e8e69a62','76266279faf7f5f1',1,'done','cpu','AMD EPYC, 1 thread, v3 kernels','cpu','here','boot',14238,609979,'oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi','runs/76266279faf7f5f1/1','2026-11-24T15:37:55Z','2026-11-24T15:37:55Z',0,NULL,NULL,NULL);
INSERT INTO "run_attempts" VALUES(7,'f7784c3b203a5d524c23bfe084cdff97','b2e05d1a0dcf8a4d',1,'done','cpu','AMD EPYC, 1 thread, v3 kernels','cpu','here','boot',14238,609979,'oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi','runs/76266279faf7f5f1/1','2026-11-24T15:37:55Z','2026-11-24T15:37:55Z',0,NULL,NULL,NULL);
CREATE TABLE runs( run_id TEXT PRIMARY KEY, kind TEXT NOT NULL CHECK(kind IN('train','eval','bench')), config_id TEXT NOT NULL, train_run_id TEXT REFERENCES runs(run_id), scale TEXT NOT NULL, modified INTEGER NOT NULL CHECK(modified IN(0,1)), origin TEXT NOT NULL CHECK(origin IN('trained','imported')), dataset TEXT NOT NULL, corpus TEXT NOT NULL, model TEXT NOT NULL, position TEXT NOT NULL, L_train INTEGER NOT NULL, seed INTEGER NOT NULL, precision TEXT NOT NULL, updates INTEGER, parameters INTEGER, L_valid INTEGER, split TEXT, protocol TEXT, stride INTEGER, first_window TEXT, checkpoint TEXT, targets INTEGER, mode TEXT, flops REAL, canonical TEXT NOT NULL, spec TEXT NOT NULL, created_at TEXT NOT NULL, CHECK((kind='eval')=(train_run_id IS NOT NULL)), CHECK(kind<>'eval' OR(L_valid IS NOT NULL AND split IS NOT NULL AND protocol IS NOT NULL)), CHECK((kind='bench')=(mode IS NOT NULL))) STRICT;
INSERT INTO "runs" VALUES('4219a3da95af1d7a','train','7bc7e9a6047902b7',NULL,'none',0,'trained','tiny','tiny','','alibi',32,1,'fp32',10,22656,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,6.75481048274902701362e+08,'data.corpus=tiny
data.dataset=tiny
data.fingerprint=17e6e723c5dab1efd2196dbb08e061db5b3129a4cdb89ac31a5a070da2a3f40e
data.test_tokens=581
data.train_tokens=7347
data.valid_tokens=640
data.vocab=208
kind=train
meaning=1
model.adaptive_factor=2
model.cutoffs=64,128
model.dim=32
model.ffn=64
model.heads=4
model.layers=2
model.position=alibi
model.softmax=adaptive
scale=none
train.L=32
train.clip=0.1
train.lr=0.005
train.momentum=0.9
train.period=6
train.seed=1
train.shard_tokens=512
train.updates=10
train.validate_every=5
train.warmup=4
','kind=train
scale=none
model.name=
model.position=alibi
model.layers=2
model.dim=32
model.heads=4
model.ffn=64
model.softmax=adaptive
model.cutoffs=64,128
model.adaptive_factor=2
model.final_norm=false
model.dropout=0
model.dropout_attention=0
model.dropout_relu=0
model.dropout_softmax=0
data.dataset=tiny
data.corpus=tiny
data.fingerprint=17e6e723c5dab1efd2196dbb08e061db5b3129a4cdb89ac31a5a070da2a3f40e
data.vocab=208
data.train_tokens=7347
data.valid_tokens=640
data.test_tokens=581
train.L=32
train.shards=1
train.shard_tokens=512
train.updates=10
train.optimizer=nag
train.lr=0.005
train.lr_init=0
train.lr_min=0
train.schedule=cosine
train.warmup=4
train.period=6
train.period_multiplier=1
train.lr_shrink=1
train.momentum=0.9
train.weight_decay=0
train.clip=0.1
train.seed=1
train.precision=fp32
train.tail_quirk=false
train.validate_every=5
train.validate_L=0
meaning=1
','2026-11-24T15:37:54Z');
INSERT INTO "runs" VALUES('355aa1605217ad6a','eval','4a80fac07772592f','4219a3da95af1d7a','none',0,'trained','tiny','tiny','','alibi',32,1,'fp32',NULL,22656,32,'valid','nonoverlapping',NULL,'whole','best',0,NULL,2.81450436781209409244e+07,'eval.L=32
eval.split=valid
eval.train_run=4219a3da95af1d7a
eval.window=nonoverlapping
kind=eval
meaning=1
scale=none
','kind=eval
scale=none
model.name=
eval.train_run=4219a3da95af1d7a
eval.checkpoint=best
eval.split=valid
eval.window=nonoverlapping
eval.L=32
eval.precision=fp32
eval.targets=0
meaning=1
','2026-11-24T15:37:54Z');
INSERT INTO "runs" VALUES('e9adaec8e7b1b180','eval','8a0062c1af1af837','4219a3da95af1d7a','none',0,'trained','tiny','tiny','','alibi',32,1,'fp32',NULL,22656,64,'valid','nonoverlapping',NULL,'whole','best',0,NULL,3.07664836781209409229e+07,'eval.L=64
eval.split=valid
eval.train_run=4219a3da95af1d7a
eval.window=nonoverlapping
kind=eval
meaning=1
scale=none
','kind=eval
scale=none
model.name=
eval.train_run=4219a3da95af1d7a
eval.checkpoint=best
eval.split=valid
eval.window=nonoverlapping
eval.L=64
eval.precision=fp32
eval.targets=0
meaning=1
','2026-11-24T15:37:54Z');
INSERT INTO "runs" VALUES('db253c97668c4241','eval','12d094407efa65e5','4219a3da95af1d7a','none',0,'trained','tiny','tiny','','alibi',32,1,'fp32',NULL,22656,16,'valid','sliding',1,'growing','best',64,NULL,3.74244086742298901079e+07,'eval.L=16
eval.split=valid
eval.stride=1
eval.targets=64
eval.train_run=4219a3da95af1d7a
eval.window=sliding
kind=eval
meaning=1
scale=none
','kind=eval
scale=none
model.name=
eval.train_run=4219a3da95af1d7a
eval.checkpoint=best
eval.split=valid
eval.window=sliding
eval.L=16
eval.stride=1
eval.precision=fp32
eval.targets=64
meaning=1
','2026-11-24T15:37:54Z');
INSERT INTO "runs" VALUES('ecec62697e0ad8a9','train','730ab5229f37334c',NULL,'none',0,'trained','tiny','tiny','','rotary',32,1,'fp32',10,22656,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,6.75481048274902701362e+08,'data.corpus=tiny
data.dataset=tiny
data.fingerprint=17e6e723c5dab1efd2196dbb08e061db5b3129a4cdb89ac31a5a070da2a3f40e
data.test_tokens=581
data.train_tokens=7347
data.valid_tokens=640
data.vocab=208
kind=train
meaning=1
model.adaptive_factor=2
model.cutoffs=64,128
model.dim=32
model.ffn=64
model.heads=4
model.layers=2
model.position=rotary
model.softmax=adaptive
scale=none
train.L=32
train.clip=0.1
train.lr=0.005
train.momentum=0.9
train.period=6
train.seed=1
train.shard_tokens=512
train.updates=10
train.validate_every=5
train.warmup=4
','kind=train
scale=none
model.name=
model.position=rotary
model.layers=2
model.dim=32
model.heads=4
model.ffn=64
model.softmax=adaptive
model.cutoffs=64,128
model.adaptive_factor=2
model.final_norm=false
model.dropout=0
model.dropout_attention=0
model.dropout_relu=0
model.dropout_softmax=0
model.rotary_base=10000
model.rotary_layout=adjacent_pairs
data.dataset=tiny
data.corpus=tiny
data.fingerprint=17e6e723c5dab1efd2196dbb08e061db5b3129a4cdb89ac31a5a070da2a3f40e
data.vocab=208
data.train_tokens=7347
data.valid_tokens=640
data.test_tokens=581
train.L=32
train.shards=1
train.shard_tokens=512
train.updates=10
train.optimizer=nag
train.lr=0.005
train.lr_init=0
train.lr_min=0
train.schedule=cosine
train.warmup=4
train.period=6
train.period_multiplier=1
train.lr_shrink=1
train.momentum=0.9
train.weight_decay=0
train.clip=0.1
train.seed=1
train.precision=fp32
train.tail_quirk=false
train.validate_every=5
train.validate_L=0
meaning=1
','2026-11-24T15:37:54Z');
INSERT INTO "runs" VALUES('76266279faf7f5f1','eval','64f46ba9e1718f5e','ecec62697e0ad8a9','none',0,'trained','tiny','tiny','','rotary',32,1,'fp32',NULL,22656,32,'valid','nonoverlapping',NULL,'whole','best',0,NULL,2.81450436781209409244e+07,'eval.L=32
eval.split=valid
eval.train_run=ecec62697e0ad8a9
eval.window=nonoverlapping
kind=eval
meaning=1
scale=none
','kind=eval
scale=none
model.name=
eval.train_run=ecec62697e0ad8a9
eval.checkpoint=best
eval.split=valid
eval.window=nonoverlapping
eval.L=32
eval.precision=fp32
eval.targets=0
meaning=1
','2026-11-24T15:37:54Z');
INSERT INTO "runs" VALUES('b2e05d1a0dcf8a4d','eval','1e663d75422600c0','ecec62697e0ad8a9','none',0,'trained','tiny','tiny','','rotary',32,1,'fp32',NULL,22656,64,'valid','nonoverlapping',NULL,'whole','best',0,NULL,3.07664836781209409229e+07,'eval.L=64
eval.split=valid
eval.train_run=ecec62697e0ad8a9
eval.window=nonoverlapping
kind=eval
meaning=1
scale=none
','kind=eval
scale=none
model.name=
eval.train_run=ecec62697e0ad8a9
eval.checkpoint=best
eval.split=valid
eval.window=nonoverlapping
eval.L=64
eval.precision=fp32
eval.targets=0
meaning=1
','2026-11-24T15:37:54Z');
CREATE INDEX runs_of_training ON runs(train_run_id);
CREATE INDEX points_of_run ON points(run_id);
CREATE UNIQUE INDEX one_running_attempt ON run_attempts(run_id) WHERE state='running';
CREATE TRIGGER an_attempt_ends_once BEFORE UPDATE ON run_attempts WHEN OLD.state<>'running' BEGIN SELECT RAISE(ABORT,'an ended attempt is never rewritten'); END;
CREATE UNIQUE INDEX one_current_result ON results(run_id) WHERE current=1;
CREATE INDEX results_of_run ON results(run_id);
CREATE VIEW evaluations AS SELECT r.scale, r.dataset, r.model, r.position, r.L_train, r.L_valid, coalesce((SELECT min(p.L_train_nominal) FROM points p WHERE p.run_id=r.run_id),r.L_train)  AS L_train_nominal, coalesce((SELECT min(p.L_valid_nominal) FROM points p WHERE p.run_id=r.run_id),r.L_valid)  AS L_valid_nominal, r.split, r.protocol, r.stride, r.first_window, r.precision, r.seed, v.perplexity, v.loss_nats, v.tokens, v.nonfinite, v.eval_wps, v.peak_memory_bytes, coalesce(a.device,a.slot) AS device, t.origin, r.run_id, r.train_run_id, r.config_id, a.code_id, a.ended_at AS finished_at, r.checkpoint, r.targets, max(r.modified,t.modified) AS modified, v.checkpoint_sha256, v.wall_seconds, a.attempt, r.corpus, a.backend FROM results v JOIN runs r ON r.run_id=v.run_id JOIN runs t ON t.run_id=r.train_run_id JOIN run_attempts a ON a.attempt_id=v.attempt_id WHERE v.current=1 AND v.kind='eval';
CREATE VIEW artefact_evaluations AS SELECT p.artefact, p.point, e.scale, e.dataset, e.model, e.position, e.L_train, e.L_valid, coalesce(p.L_train_nominal,e.L_train) AS L_train_nominal, coalesce(p.L_valid_nominal,e.L_valid) AS L_valid_nominal, e.split, e.protocol, e.stride, e.first_window, e.precision, e.seed, e.perplexity, e.loss_nats, e.tokens, e.nonfinite, e.eval_wps, e.peak_memory_bytes, e.device, e.origin, e.run_id, e.train_run_id, e.config_id, e.code_id, e.finished_at, e.checkpoint, e.targets, e.modified, e.checkpoint_sha256, e.wall_seconds, e.attempt, e.corpus, e.backend, CASE e.protocol WHEN 'sliding' THEN coalesce(p.stride_nominal,e.stride) END AS stride_nominal FROM points p JOIN evaluations e ON e.run_id=p.run_id;
CREATE VIEW trainings AS SELECT r.scale, r.dataset, r.model, r.position, r.L_train, coalesce((SELECT min(p.L_train_nominal) FROM runs w JOIN points p ON p.run_id=w.run_id  WHERE w.run_id=r.run_id OR w.train_run_id=r.run_id),r.L_train) AS L_train_nominal, r.seed, v.updates, v.tokens_per_update, coalesce(v.parameters,r.parameters) AS parameters, v.final_loss_nats, v.train_wps, v.peak_memory_bytes, v.wall_seconds, coalesce(a.device,a.slot) AS device, r.run_id, r.config_id, a.code_id, a.ended_at AS finished_at, r.origin, r.precision, r.modified, v.best_sha256, v.last_sha256, a.attempt, r.corpus, a.backend FROM results v JOIN runs r ON r.run_id=v.run_id JOIN run_attempts a ON a.attempt_id=v.attempt_id WHERE v.current=1 AND v.kind='train';
CREATE VIEW benchmarks AS SELECT r.position, r.L_train, r.mode, v.batch_tokens, v.wps, v.peak_memory_bytes, v.mfu, coalesce(a.device,a.slot) AS device, r.scale, r.dataset, r.model, coalesce((SELECT min(p.L_train_nominal) FROM points p WHERE p.run_id=r.run_id),r.L_train)  AS L_train_nominal, r.precision, r.seed, v.wall_seconds, r.run_id, r.config_id, a.code_id, a.ended_at AS finished_at, r.modified, r.parameters, a.attempt, r.corpus, a.backend FROM results v JOIN runs r ON r.run_id=v.run_id JOIN run_attempts a ON a.attempt_id=v.attempt_id WHERE v.current=1 AND v.kind='bench';
CREATE VIEW curves AS SELECT r.scale, r.dataset, r.model, r.position, r.L_train, r.seed, r.run_id, c.split, c.step, c.loss_nats, c.lr, c.grad_norm, c.epoch, c.perplexity, c.best, a.attempt FROM runs r JOIN run_attempts a ON a.run_id=r.run_id JOIN curve_points c ON c.attempt_id=a.attempt_id LEFT JOIN results v ON v.run_id=r.run_id AND v.current=1 LEFT JOIN run_attempts shown ON shown.attempt_id=v.attempt_id WHERE (shown.attempt IS NULL OR a.attempt<=shown.attempt) AND NOT EXISTS(  SELECT 1 FROM run_attempts b JOIN curve_points d ON d.attempt_id=b.attempt_id  AND d.split=c.split AND d.step=c.step WHERE b.run_id=r.run_id AND b.attempt>a.attempt  AND (shown.attempt IS NULL OR b.attempt<=shown.attempt));
CREATE VIEW paper_values AS SELECT artefact, dataset, panel, series, method, params, L_train, L_valid, split, protocol, stride, x_name, x, metric, value, unit, note, source, position, line FROM paper_cells;
CREATE VIEW comparison AS WITH metrics(kind, mode, metric, unit) AS(VALUES('eval',NULL,'perplexity','ppl'),  ('bench','train','train_wps','words/s'),('bench','train','memory_gb','GB'),  ('bench','eval','eval_wps','words/s')),wanted AS( SELECT DISTINCT p.artefact, r.scale, r.dataset, r.position,  coalesce(p.L_train_nominal,r.L_train) AS L_train_nominal,  CASE r.kind WHEN 'eval' THEN coalesce(p.L_valid_nominal,r.L_valid) END AS L_valid_nominal,  r.split, r.protocol, r.stride,  CASE r.protocol WHEN 'sliding' THEN coalesce(p.stride_nominal,r.stride) END   AS stride_nominal,  r.config_id, r.run_id, m.metric, m.unit, max(r.modified,coalesce(t.modified,0)) AS modified,  coalesce(t.origin,r.origin) AS origin, coalesce(a.device,a.slot) AS device,  CASE m.metric WHEN 'perplexity' THEN v.perplexity   WHEN 'memory_gb' THEN v.peak_memory_bytes/1e9 ELSE v.wps END AS value,  CASE m.metric WHEN 'memory_gb' THEN v.peak_memory_bytes IS NOT NULL   ELSE v.result_id IS NOT NULL END AS done,  CASE WHEN v.result_id IS NULL THEN (SELECT f.state FROM run_attempts f WHERE   f.run_id=coalesce(r.train_run_id,r.run_id) ORDER BY f.attempt DESC LIMIT 1) END AS fate FROM points p JOIN runs r ON r.run_id=p.run_id JOIN metrics m ON m.kind=r.kind AND m.mode IS r.mode LEFT JOIN runs t ON t.run_id=r.train_run_id LEFT JOIN results v ON v.run_id=r.run_id AND v.current=1 LEFT JOIN run_attempts a ON a.attempt_id=v.attempt_id),counted AS( SELECT *, CASE WHEN done AND metric<>'perplexity' THEN device END AS machine, sum(done) OVER(  PARTITION BY artefact, scale, config_id, L_train_nominal, L_valid_nominal, stride_nominal,  metric) AS done_n FROM wanted),centred AS( SELECT *, value-avg(value) OVER(PARTITION BY artefact, scale, config_id, L_train_nominal,  L_valid_nominal, stride_nominal, metric, machine) AS off FROM counted WHERE done OR done_n=0),averaged AS( SELECT artefact, scale, dataset, position, L_train_nominal, L_valid_nominal, split, protocol,  stride, stride_nominal, config_id, metric, unit, max(modified) AS modified,  CASE WHEN count(value)<sum(done) THEN 'not finite' WHEN sum(done)>0 THEN 'done'   WHEN max(fate='diverged') THEN 'diverged' ELSE 'not run' END AS state,  sum(done) AS seeds, CASE WHEN count(value)=sum(done) THEN avg(value) END AS ours,  CASE WHEN count(value)=sum(done) AND count(value)>1   THEN sqrt(sum(off*off)/(count(value)-1)) END AS ours_std,  group_concat(DISTINCT CASE WHEN done THEN device END) AS device, group_concat(DISTINCT origin) AS origin FROM centred GROUP BY artefact, scale, config_id, L_train_nominal, L_valid_nominal,  stride_nominal, metric, machine),cells AS( SELECT artefact, position, split, protocol, stride, metric, value, x_name, x,  lower(replace(replace(dataset,'-',''),' ','')) AS dataset,  coalesce(L_train,CASE WHEN x_name IN('L_train','input_length') THEN x END) AS L_train,  coalesce(L_valid,CASE WHEN x_name='L_valid' THEN x END) AS L_valid FROM paper_cells WHERE position IS NOT NULL  AND (x_name IS NULL OR x_name IN('L_train','L_valid','input_length','train_wps'))),theirs AS( SELECT * FROM cells UNION ALL SELECT artefact, position, split, protocol, stride, x_name, x, NULL, NULL, dataset, L_train,  L_valid FROM cells WHERE x_name='train_wps')SELECT o.artefact, o.scale, o.position, o.L_train_nominal, o.L_valid_nominal, o.metric, o.ours, o.ours_std, o.seeds, t.value AS paper, o.ours-t.value AS delta, o.dataset, o.split, o.protocol, o.stride, o.stride_nominal, o.config_id, o.modified, o.unit, o.device, o.origin, o.state FROM averaged o LEFT JOIN theirs t ON o.scale='paper' AND o.modified=0 AND t.artefact=o.artefact AND t.position=o.position AND t.metric=o.metric AND t.L_train=o.L_train_nominal AND (t.dataset IS NULL OR t.dataset=o.dataset) AND CASE o.metric WHEN 'perplexity' THEN t.L_valid=o.L_valid_nominal AND t.split=o.split  AND t.protocol=o.protocol AND t.stride IS o.stride_nominal  WHEN 'eval_wps' THEN t.L_valid IS NULL OR t.L_valid=t.L_train ELSE 1 END;
CREATE VIEW attempts AS SELECT run_id, attempt, state, coalesce(device,slot) AS device, host, blas, threads, started_at, ended_at, exit_code, signal, message, dir||'/log' AS log_path, backend, code_id, program, slot, pid, dir, merged_from, EXISTS(SELECT 1 FROM results v WHERE v.attempt_id=t.attempt_id AND v.current=1)  AS current_result FROM run_attempts t;
CREATE VIEW claims AS SELECT claim, statement, verdict, evidence, scale, artefact, judged_at FROM claim_verdicts;
CREATE VIEW progress AS SELECT a.run_id, a.attempt, r.kind, r.scale, r.position, r.L_train, r.L_valid, r.seed, coalesce(a.device,a.slot) AS device, a.slot, a.host, a.pid, a.started_at, n.done, n.total, n.loss_nats, n.wps, n.updated_at FROM run_attempts a JOIN runs r ON r.run_id=a.run_id LEFT JOIN progress_now n ON n.attempt_id=a.attempt_id WHERE a.state='running';
CREATE VIEW run_list AS SELECT run_id, kind, scale, dataset, model, position, L_train, L_valid, split, protocol, stride, mode, seed, config_id, train_run_id, modified, parameters, spec, created_at, CASE WHEN EXISTS(SELECT 1 FROM results v WHERE v.run_id=r.run_id AND v.current=1) THEN 'done'  ELSE coalesce((SELECT nullif(a.state,'done') FROM run_attempts a WHERE a.run_id=r.run_id   ORDER BY a.attempt DESC LIMIT 1),'none') END AS state FROM runs r;
CREATE VIEW artefact_points AS SELECT artefact, scale, point, run_id, L_train_nominal, L_valid_nominal, stride_nominal FROM points;
CREATE VIEW wanted_evaluations AS SELECT p.artefact, r.scale, r.dataset, r.corpus, r.model, r.position, CASE r.position WHEN 'sinusoidal' THEN 'Sinusoidal' WHEN 'rotary' THEN 'Rotary'  WHEN 't5' THEN 'T5 Bias' WHEN 'alibi' THEN 'ALiBi' ELSE r.position END AS method, CASE r.position WHEN 'sinusoidal' THEN 1 WHEN 'rotary' THEN 2 WHEN 't5' THEN 3  WHEN 'alibi' THEN 4 ELSE 5 END AS place, 'L='||r.L_train||CASE WHEN r.L_train<>p.L_train_nominal  THEN ' ('||p.L_train_nominal||')' ELSE '' END AS trained_on, r.L_train, coalesce(p.L_train_nominal,r.L_train) AS L_train_nominal, r.L_valid, coalesce(p.L_valid_nominal,r.L_valid) AS L_valid_nominal, r.split, r.protocol, r.stride, r.first_window, r.precision, r.seed, e.perplexity, e.loss_nats, e.tokens, e.nonfinite, e.eval_wps, e.peak_memory_bytes, q.parameters, t.updates, t.tokens_per_update, t.train_wps, t.peak_memory_bytes AS train_memory_bytes, b.wps AS alone_wps, b.peak_memory_bytes AS alone_memory_bytes, b.device AS alone_device, CASE WHEN e.nonfinite>0 THEN 'not finite' WHEN e.run_id IS NULL AND  (SELECT a.state FROM run_attempts a WHERE a.run_id=r.train_run_id  ORDER BY a.attempt DESC LIMIT 1)='diverged' THEN 'diverged' END AS state, coalesce(e.modified,r.modified) AS modified, r.run_id, r.train_run_id, r.config_id, e.code_id, e.device, e.finished_at, p.point FROM points p JOIN runs r ON r.run_id=p.run_id AND r.kind='eval' JOIN runs q ON q.run_id=r.train_run_id LEFT JOIN evaluations e ON e.run_id=r.run_id LEFT JOIN trainings t ON t.run_id=r.train_run_id LEFT JOIN benchmarks b ON b.run_id=(  SELECT w.run_id FROM points o JOIN runs w ON w.run_id=o.run_id  WHERE o.artefact=p.artefact AND o.scale=p.scale AND w.kind='bench' AND w.mode='train'  AND w.position=r.position AND w.L_train=r.L_train AND w.seed=r.seed);
CREATE VIEW wanted_benchmarks AS SELECT p.artefact, r.scale, r.dataset, r.corpus, r.model, r.position, CASE r.position WHEN 'sinusoidal' THEN 'Sinusoidal' WHEN 'rotary' THEN 'Rotary'  WHEN 't5' THEN 'T5 Bias' WHEN 'alibi' THEN 'ALiBi' ELSE r.position END AS method, CASE r.position WHEN 'sinusoidal' THEN 1 WHEN 'rotary' THEN 2 WHEN 't5' THEN 3  WHEN 'alibi' THEN 4 ELSE 5 END AS place, 'L='||r.L_train||CASE WHEN r.L_train<>p.L_train_nominal  THEN ' ('||p.L_train_nominal||')' ELSE '' END AS trained_on, r.L_train, coalesce(p.L_train_nominal,r.L_train) AS L_train_nominal, r.precision, r.seed, r.mode, b.wps, b.peak_memory_bytes, b.batch_tokens, b.mfu, b.device AS machine, coalesce(b.modified,r.modified) AS modified, r.run_id, r.config_id, b.code_id, b.finished_at, p.point FROM points p JOIN runs r ON r.run_id=p.run_id AND r.kind='bench' LEFT JOIN benchmarks b ON b.run_id=r.run_id;
COMMIT;
PRAGMA application_id=1095518530;
PRAGMA user_version=1;
