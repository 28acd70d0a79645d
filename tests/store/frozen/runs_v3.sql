-- The dump of the results.db that commit af9488ee (schema version 3) wrote when it ran g/grid.yaml, without the paper's
-- numbers, host and path. Never change it; see tests/cli/test_old_databases.sh.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE checkpoint_files( attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), sequence INTEGER NOT NULL, step INTEGER NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, best INTEGER NOT NULL CHECK(best IN(0,1)), bytes INTEGER, PRIMARY KEY(attempt_id,sequence)) STRICT;
INSERT INTO "checkpoint_files" VALUES(1,9,5,'update-000000005.safetensors','935cc239a480d16aacad346e4241757c78167f3875caa49a3c38a3f3c94b09d4',1,95672);
INSERT INTO "checkpoint_files" VALUES(1,16,10,'update-000000010.safetensors','30984a0d06834f70b24b3bea9f2515855c1a30a2f6b85e21536d18d86adc9b84',1,95672);
INSERT INTO "checkpoint_files" VALUES(5,9,5,'update-000000005.safetensors','0097a627b750f1eea597bbb51e9b12b6ef59ce22aff8ab914351d9a5e7a24898',1,95832);
INSERT INTO "checkpoint_files" VALUES(5,16,10,'update-000000010.safetensors','610d469eed70e1ca24c94fde1cdbc0b132d8db55beb05498e94300e3df93c80a',1,95832);
CREATE TABLE "claim_verdicts"( artefact TEXT NOT NULL, scale TEXT NOT NULL, claim TEXT NOT NULL, statement TEXT NOT NULL, verdict TEXT NOT NULL  CHECK(verdict IN('supported','contradicted','not run','not judged')), evidence TEXT, judged_at TEXT NOT NULL, PRIMARY KEY(artefact,scale,claim)) STRICT;
CREATE TABLE curve_points( attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), split TEXT NOT NULL CHECK(split IN('train','valid')), step INTEGER NOT NULL, best INTEGER CHECK(best IN(0,1)), loss_nats REAL, lr REAL, grad_norm REAL, epoch INTEGER, perplexity REAL, PRIMARY KEY(attempt_id,split,step)) STRICT, WITHOUT ROWID;
INSERT INTO "curve_points" VALUES(1,'train',1,NULL,8.52926506570919329419e+00,0.0,4.80240363862466,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',2,NULL,8.53338989394251257181e+00,0.00125,8.62880900509565584854e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',3,NULL,8.36055619735270738601e+00,0.0025,6.29556566431955122453e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',4,NULL,8.18711179657839238643e+00,0.00375,4.15025337091262347399e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',5,NULL,8.22993693570606410503e+00,0.005,6.4024634706512255633e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',6,NULL,8.52956547203939408063e+00,4.66506350946109711597e-03,1.12375934320573573894e+01,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',7,NULL,8.76911471085622906684e+00,0.00375,5.25848460182123567108e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',8,NULL,8.23805372603237628936e+00,0.0025,3.99455018848894471972e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',9,NULL,8.12607903840641121462e+00,1.25000000000000067654e-03,3.96264369232330793124e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',10,NULL,8.19889389257878,3.34936490538903259162e-04,4.49953100614737877549e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'valid',5,1,8.90232583545148337123e+00,NULL,NULL,1,7.34904634972043822914e+03);
INSERT INTO "curve_points" VALUES(1,'valid',10,1,8.88462780378759,NULL,NULL,1,7.22012687023785292711e+03);
INSERT INTO "curve_points" VALUES(5,'train',1,NULL,8.55185367373044158512e+00,0.0,4.51355338201199796088e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',2,NULL,8.51533167087473,0.00125,6.56334817270429926594e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',3,NULL,8.32876280741766095161e+00,0.0025,6.25484661397797836457e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',4,NULL,8.17803321941755712032e+00,0.00375,3.85142895731723,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',5,NULL,8.22247830207925289869e+00,0.005,7.17777106750874160923e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',6,NULL,8.51226673810742795467e+00,4.66506350946109711597e-03,1.6498656675524106419e+01,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',7,NULL,8.75713666703086346387e+00,0.00375,4.89235110285908536553e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',8,NULL,8.20943088782951235771e+00,0.0025,3.7041483214980206462e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',9,NULL,8.12934046114484409883e+00,1.25000000000000067654e-03,3.90939175019829,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',10,NULL,8.19660823885351419448e+00,3.34936490538903259162e-04,4.05469882261194936035e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'valid',5,1,8.87340008281171321868e+00,NULL,NULL,1,7.13951469268748132885e+03);
INSERT INTO "curve_points" VALUES(5,'valid',10,1,8.85636346749961411717e+00,NULL,NULL,1,7.01891177712341141157e+03);
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
CREATE TABLE progress_now( attempt_id INTEGER PRIMARY KEY REFERENCES run_attempts(attempt_id), sequence INTEGER NOT NULL, updated_at TEXT NOT NULL, done REAL, total REAL, loss_nats REAL, wps REAL) STRICT;
CREATE TABLE results( result_id INTEGER PRIMARY KEY, attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), run_id TEXT NOT NULL REFERENCES runs(run_id), kind TEXT NOT NULL CHECK(kind IN('train','eval','bench')), sequence INTEGER NOT NULL, current INTEGER NOT NULL CHECK(current IN(0,1)), late INTEGER NOT NULL CHECK(late IN(0,1)), updates INTEGER, final_loss_nats REAL, perplexity REAL, tokens INTEGER, nonfinite INTEGER, wps REAL, peak_memory_bytes INTEGER, wall_seconds REAL, tokens_per_update INTEGER, parameters INTEGER, train_wps REAL, best_checkpoint TEXT, best_sha256 TEXT, last_checkpoint TEXT, last_sha256 TEXT, loss_nats REAL, eval_wps REAL, checkpoint_sha256 TEXT, position_loss TEXT, mfu REAL, batch_tokens INTEGER, cpu_share REAL, switches_per_s REAL, UNIQUE(attempt_id,sequence), CHECK(current=0 OR late=0), CHECK(kind<>'train' OR(updates IS NOT NULL AND final_loss_nats IS NOT NULL)), CHECK(kind<>'eval' OR(tokens IS NOT NULL AND nonfinite IS NOT NULL  AND(nonfinite=0)=(perplexity IS NOT NULL))), CHECK(kind<>'bench' OR wps IS NOT NULL)) STRICT;
INSERT INTO "results" VALUES(1,1,'4219a3da95af1d7a','train',17,1,0,10,8.19889389257878,NULL,NULL,NULL,NULL,24793088,1.82961999999999985755e-01,512,22656,6.06133508914100530094e+04,'update-000000010.safetensors','30984a0d06834f70b24b3bea9f2515855c1a30a2f6b85e21536d18d86adc9b84','update-000000010.safetensors','30984a0d06834f70b24b3bea9f2515855c1a30a2f6b85e21536d18d86adc9b84',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(2,2,'db253c97668c4241','eval',3,1,0,NULL,NULL,9.7931791054868263021e+03,64,0,NULL,19873792,0.002992,NULL,NULL,NULL,NULL,NULL,NULL,NULL,9.18944141268730163574e+00,5.29801324503311334406e+04,'30984a0d06834f70b24b3bea9f2515855c1a30a2f6b85e21536d18d86adc9b84','         1         1               1         13.073108673095703
         2         2               1         19.004545211791992
         3         3               1         8.2057113647460938
         4         4               1         4.5706453323364258
         5         6               2         17.166657447814941
         7         8               2         20.922039031982422
         9        12               4         56.888899803161621
        13        16              52         448.29264354705811
',NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(3,3,'355aa1605217ad6a','eval',3,1,0,NULL,NULL,7.22012687023785292711e+03,640,0,NULL,20103168,0.011316,NULL,NULL,NULL,NULL,NULL,NULL,NULL,8.88462780378759,7.55608028335301089122e+05,'30984a0d06834f70b24b3bea9f2515855c1a30a2f6b85e21536d18d86adc9b84','         1         1              20          182.6529586315155
         2         2              20         210.81888294219971
         3         3              20         220.75440073013306
         4         4              20         181.67433857917786
         5         6              40         322.07896542549133
         7         8              40         303.74836421012878
         9        12              80         740.89456129074097
        13        16              80         692.29164981842041
        17        24             160         1412.2805824279785
        25        32             160         1418.9670903682709
',NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(4,4,'e9adaec8e7b1b180','eval',4,1,0,NULL,NULL,6.8343273970242280485e+03,640,0,NULL,20205568,0.001883,NULL,NULL,NULL,NULL,NULL,NULL,NULL,8.82971333861351,7.2727272727272729391e+05,'30984a0d06834f70b24b3bea9f2515855c1a30a2f6b85e21536d18d86adc9b84','         1         1              10         81.786999464035034
         2         2              10          118.0187840461731
         3         3              10          100.5115327835083
         4         4              10         82.189024209976196
         5         6              20         170.48614764213562
         7         8              20         137.88402962684631
         9        12              40         340.40877437591553
        13        16              40         330.01072239875793
        17        24              80         717.23943209648132
        25        32              80         690.81333184242249
        33        48             160         1462.4760041236877
        49        64             160         1419.1917541027069
',NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(5,5,'ecec62697e0ad8a9','train',17,1,0,10,8.19660823885351419448e+00,NULL,NULL,NULL,NULL,24662016,2.21063999999999982737e-01,512,22656,3.4911281441667451873e+04,'update-000000010.safetensors','610d469eed70e1ca24c94fde1cdbc0b132d8db55beb05498e94300e3df93c80a','update-000000010.safetensors','610d469eed70e1ca24c94fde1cdbc0b132d8db55beb05498e94300e3df93c80a',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(6,6,'76266279faf7f5f1','eval',3,1,0,NULL,NULL,7.01891177712341141157e+03,640,0,NULL,19976192,0.01509,NULL,NULL,NULL,NULL,NULL,NULL,NULL,8.85636346749961411717e+00,4.79041916167664749096e+04,'610d469eed70e1ca24c94fde1cdbc0b132d8db55beb05498e94300e3df93c80a','         1         1              20         182.66261553764343
         2         2              20         210.94391202926636
         3         3              20         219.94549179077148
         4         4              20         182.84989786148071
         5         6              40         319.98206329345703
         7         8              40         302.22999906539917
         9        12              80         738.12816452980042
        13        16              80         687.87977385520935
        17        24             160         1404.8680670261383
        25        32             160         1418.5826342105865
',NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(7,7,'b2e05d1a0dcf8a4d','eval',4,1,0,NULL,NULL,6.64654657729374230253e+03,640,0,NULL,20045824,0.002392,NULL,NULL,NULL,NULL,NULL,NULL,NULL,8.80185268707573342794e+00,5.59440559440559358325e+05,'610d469eed70e1ca24c94fde1cdbc0b132d8db55beb05498e94300e3df93c80a','         1         1              10         81.795640230178833
         2         2              10         118.26192665100098
         3         3              10         99.821049213409424
         4         4              10         82.452705860137939
         5         6              20         169.08880090713501
         7         8              20         136.92628884315491
         9        12              40         338.36449646949768
        13        16              40         328.50175428390503
        17        24              80         712.21640229225159
        25        32              80         690.34243202209473
        33        48             160         1460.1320638656616
        49        64             160         1415.2821590900421
',NULL,NULL,NULL,NULL);
CREATE TABLE run_attempts( attempt_id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, run_id TEXT NOT NULL REFERENCES runs(run_id), attempt INTEGER NOT NULL CHECK(attempt>=1), state TEXT NOT NULL  CHECK(state IN('running','done','failed','diverged','lost','cancelled')), slot TEXT, boot_id TEXT, pid INTEGER, pid_start INTEGER, dir TEXT NOT NULL, started_at TEXT NOT NULL, ended_at TEXT, exit_code INTEGER, signal INTEGER, message TEXT, merged_from TEXT, host TEXT, device TEXT, backend TEXT, blas TEXT, threads INTEGER, code_id TEXT, program TEXT, choices TEXT, UNIQUE(run_id,attempt), CHECK((state='running')=(ended_at IS NULL))) STRICT;
INSERT INTO "run_attempts" VALUES(1,'321888dede784e087f66c0fc40f6ecfd','4219a3da95af1d7a',1,'done','cpu','boot',19142,669254,'runs/4219a3da95af1d7a/1','2026-11-24T15:47:48Z','2026-11-24T15:47:48Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi',NULL);
INSERT INTO "run_attempts" VALUES(2,'bd5f2a455cce4d19b23615305ea7d494','db253c97668c4241',1,'done','cpu','boot',19159,669290,'runs/db253c97668c4241/1','2026-11-24T15:47:48Z','2026-11-24T15:47:48Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi',NULL);
INSERT INTO "run_attempts" VALUES(3,'805c62542c7bc33f7624e777890e0ca8','355aa1605217ad6a',1,'done','cpu','boot',19163,669298,'runs/355aa1605217ad6a/1','2026-11-24T15:47:48Z','2026-11-24T15:47:48Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi',NULL);
INSERT INTO "run_attempts" VALUES(4,'e97235b29e0e355dad23e533d964e9f0','e9adaec8e7b1b180',1,'done','cpu','boot',19163,669298,'runs/355aa1605217ad6a/1','2026-11-24T15:47:48Z','2026-11-24T15:47:48Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi',NULL);
INSERT INTO "run_attempts" VALUES(5,'23de6214c0a4d857d66e2cc875fb982c','ecec62697e0ad8a9',1,'done','cpu','boot',19164,669307,'runs/ecec62697e0ad8a9/1','2026-11-24T15:47:48Z','2026-11-24T15:47:49Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi',NULL);
INSERT INTO "run_attempts" VALUES(6,'eb39285d8418f27416303278fce8aa4b','76266279faf7f5f1',1,'done','cpu','boot',19170,669336,'runs/76266279faf7f5f1/1','2026-11-24T15:47:49Z','2026-11-24T15:47:49Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi',NULL);
INSERT INTO "run_attempts" VALUES(7,'1ddf9c8516d6b2535eb69772a529f3fd','b2e05d1a0dcf8a4d',1,'done','cpu','boot',19170,669336,'runs/76266279faf7f5f1/1','2026-11-24T15:47:49Z','2026-11-24T15:47:49Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','oneDNN 2.6.3, AVX2 kernels',1,'unknown','alibi',NULL);
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
model.attention_window=0
model.alibi_slopes=none
model.alibi_slopes_source=geometric
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
','2026-11-24T15:47:48Z');
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
eval.position_scaling=none
eval.attention_window=0
meaning=1
','2026-11-24T15:47:48Z');
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
eval.position_scaling=none
eval.attention_window=0
meaning=1
','2026-11-24T15:47:48Z');
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
eval.position_scaling=none
eval.attention_window=0
meaning=1
','2026-11-24T15:47:48Z');
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
model.attention_window=0
model.rotary_base=10000
model.rotary_layout=adjacent_pairs
model.rope_scaling=none
model.rope_scaling_factor=1
model.rope_original_length=0
model.yarn_beta_fast=32
model.yarn_beta_slow=1
model.yarn_attention_factor=0
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
','2026-11-24T15:47:48Z');
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
eval.position_scaling=none
eval.attention_window=0
meaning=1
','2026-11-24T15:47:48Z');
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
eval.position_scaling=none
eval.attention_window=0
meaning=1
','2026-11-24T15:47:48Z');
CREATE INDEX runs_of_training ON runs(train_run_id);
CREATE INDEX points_of_run ON points(run_id);
CREATE UNIQUE INDEX one_running_attempt ON run_attempts(run_id) WHERE state='running';
CREATE UNIQUE INDEX one_current_result ON results(run_id) WHERE current=1;
CREATE INDEX results_of_run ON results(run_id);
CREATE TRIGGER an_attempt_ends_once BEFORE UPDATE OF attempt_id,uid,run_id,attempt,state,slot,device,backend,host,boot_id,pid,pid_start,blas,threads,code_id,program,started_at,ended_at,exit_code,signal,message,merged_from,choices ON run_attempts WHEN OLD.state<>'running' BEGIN SELECT RAISE(ABORT,'an ended attempt is never rewritten'); END;
CREATE VIEW position_methods AS SELECT NULL AS position, NULL AS display, NULL AS place, NULL AS style, NULL AS bounded WHERE 0 UNION ALL SELECT 'sinusoidal','Sinusoidal',1,1,0 UNION ALL SELECT 'rotary','Rotary',2,2,0 UNION ALL SELECT 't5','T5 Bias',3,3,0 UNION ALL SELECT 'alibi','ALiBi',4,4,0 UNION ALL SELECT 'none','NoPE',5,6,0 UNION ALL SELECT 'learned','Learned',6,7,1 UNION ALL SELECT 'alibi_learned','ALiBi, learned slopes',7,8,0 UNION ALL SELECT 'kerple_log','KERPLE-log',8,9,0 UNION ALL SELECT 'kerple_power','KERPLE-power',9,10,0 UNION ALL SELECT 'sandwich','Sandwich',10,11,0 UNION ALL SELECT 'tisa','TISA',11,12,0;
CREATE VIEW evaluation_settings AS
SELECT run_id,
  substr(text, scaling, instr(substr(text, scaling), char(10)) - 1) AS position_scaling,
  CAST(substr(text, instr(text, 'eval.position_scaling_factor=') + 29) AS REAL)
    AS position_scaling_factor,
  CAST(substr(text, instr(text, 'eval.attention_window=') + 22) AS INTEGER) AS attention_window,
  CAST(substr(text, instr(text, 'eval.attention_sinks=') + 21) AS INTEGER) AS attention_sinks,
  (WITH RECURSIVE lines(line, rest) AS (
    SELECT 'kind=eval', canonical
    UNION ALL
    SELECT substr(rest, 1, instr(rest, char(10)) - 1), substr(rest, instr(rest, char(10)) + 1)
    FROM lines WHERE rest <> '')
  SELECT coalesce(group_concat(line, ' '), '') FROM lines
  WHERE substr(line, 1, instr(line, '=') - 1) NOT IN ('kind', 'scale', 'meaning',
    'eval.train_run', 'eval.checkpoint', 'eval.split', 'eval.window', 'eval.L', 'eval.stride',
    'eval.precision', 'eval.targets')) AS settings
FROM (
  SELECT run_id, canonical, text, instr(text, 'eval.position_scaling=') + 22 AS scaling
  FROM (
    SELECT run_id, canonical, canonical || 'eval.position_scaling=none' || char(10)
      || 'eval.position_scaling_factor=0 eval.attention_window=0 eval.attention_sinks=0' AS text
    FROM runs WHERE kind = 'eval'));
CREATE VIEW evaluations AS
SELECT r.scale, r.dataset, r.model, r.position, r.L_train, r.L_valid,
  coalesce((SELECT min(p.L_train_nominal) FROM points p WHERE p.run_id = r.run_id), r.L_train)
    AS L_train_nominal,
  coalesce((SELECT min(p.L_valid_nominal) FROM points p WHERE p.run_id = r.run_id), r.L_valid)
    AS L_valid_nominal,
  r.split, r.protocol, r.stride, r.first_window, r.precision, r.seed,
  v.perplexity, v.loss_nats, v.tokens, v.nonfinite, v.eval_wps, v.peak_memory_bytes,
  coalesce(a.device, a.slot) AS device, t.origin, r.run_id, r.train_run_id, r.config_id,
  a.code_id, a.ended_at AS finished_at,
  r.checkpoint, r.targets, max(r.modified, t.modified) AS modified, v.checkpoint_sha256,
  v.wall_seconds, a.attempt, r.corpus, a.backend, s.position_scaling, s.position_scaling_factor,
  s.attention_window, s.attention_sinks, s.settings
FROM results v
JOIN runs r ON r.run_id = v.run_id
JOIN run_attempts a ON a.attempt_id = v.attempt_id
JOIN runs t ON t.run_id = r.train_run_id
JOIN evaluation_settings s ON s.run_id = v.run_id
WHERE v.current = 1 AND v.kind = 'eval';
CREATE VIEW position_loss AS
WITH RECURSIVE
lines(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM lines WHERE i < 63),
cut AS (
  SELECT v.run_id, substr(v.position_loss, 64 * i + 1, 64) AS line
  FROM results v JOIN lines ON 64 * i < length(v.position_loss)
  WHERE v.current = 1 AND v.kind = 'eval'),
bins AS (
  SELECT run_id, CAST(substr(line, 1, 10) AS INTEGER) AS first,
    CAST(substr(line, 11, 10) AS INTEGER) AS last, CAST(substr(line, 21, 16) AS INTEGER) AS targets,
    CAST(nullif(trim(substr(line, 37, 27)), '') AS REAL) AS nll
  FROM cut)
SELECT r.scale, r.dataset, r.model, r.position, r.L_train, r.L_valid, r.split, r.protocol,
  r.stride, r.seed, b.first, b.last, b.targets, b.nll, b.nll / b.targets AS loss_nats,
  exp(b.nll / b.targets) AS perplexity, r.run_id, r.train_run_id, r.config_id,
  max(r.modified, t.modified) AS modified, r.precision, r.checkpoint, s.settings
FROM bins b
JOIN runs r ON r.run_id = b.run_id
JOIN runs t ON t.run_id = r.train_run_id
JOIN evaluation_settings s ON s.run_id = b.run_id;
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
  e.position_scaling, e.position_scaling_factor, e.attention_window, e.attention_sinks, e.settings
FROM points p
JOIN evaluations e ON e.run_id = p.run_id;
CREATE VIEW trainings AS
SELECT r.scale, r.dataset, r.model, r.position, r.L_train,
  coalesce((SELECT min(p.L_train_nominal) FROM runs w JOIN points p ON p.run_id = w.run_id
    WHERE w.run_id = r.run_id OR w.train_run_id = r.run_id), r.L_train) AS L_train_nominal,
  r.seed, v.updates, v.tokens_per_update, coalesce(v.parameters, r.parameters) AS parameters,
  v.final_loss_nats, v.train_wps, v.peak_memory_bytes, v.wall_seconds,
  coalesce(a.device, a.slot) AS device, r.run_id, r.config_id, a.code_id,
  a.ended_at AS finished_at,
  r.origin, r.precision, r.modified, v.best_sha256, v.last_sha256, a.attempt, r.corpus, a.backend
FROM results v
JOIN runs r ON r.run_id = v.run_id
JOIN run_attempts a ON a.attempt_id = v.attempt_id
WHERE v.current = 1 AND v.kind = 'train';
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
  c.loss_nats, c.lr, c.grad_norm, c.epoch, c.perplexity, c.best, a.attempt
FROM runs r
JOIN run_attempts a ON a.run_id = r.run_id
JOIN curve_points c ON c.attempt_id = a.attempt_id
LEFT JOIN results v ON v.run_id = r.run_id AND v.current = 1
LEFT JOIN run_attempts shown ON shown.attempt_id = v.attempt_id
WHERE (shown.attempt IS NULL OR a.attempt <= shown.attempt) AND NOT EXISTS (
  SELECT 1 FROM run_attempts b
  JOIN curve_points d ON d.attempt_id = b.attempt_id AND d.split = c.split AND d.step = c.step
  WHERE b.run_id = r.run_id AND b.attempt > a.attempt
  AND (shown.attempt IS NULL OR b.attempt <= shown.attempt));
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
    coalesce(t.origin, r.origin) AS origin, coalesce(a.device, a.slot) AS device,
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
    AS current_result, choices
FROM run_attempts t;
CREATE VIEW claims AS
SELECT claim, statement, verdict, evidence, scale, artefact, judged_at
FROM claim_verdicts;
CREATE VIEW progress AS
SELECT a.run_id, a.attempt, r.kind, r.scale, r.position, r.L_train, r.L_valid, r.seed,
  coalesce(a.device, a.slot) AS device, a.slot, a.host, a.pid, a.started_at, n.done, n.total,
  n.loss_nats, n.wps, n.updated_at
FROM run_attempts a
JOIN runs r ON r.run_id = a.run_id
LEFT JOIN progress_now n ON n.attempt_id = a.attempt_id
WHERE a.state = 'running';
CREATE VIEW run_list AS
SELECT run_id, kind, scale, dataset, model, position, L_train, L_valid, split, protocol, stride,
  mode, seed, config_id, train_run_id, modified, parameters, spec, created_at,
  CASE WHEN EXISTS (SELECT 1 FROM results v WHERE v.run_id = r.run_id AND v.current = 1) THEN 'done'
    ELSE coalesce((SELECT nullif(a.state, 'done') FROM run_attempts a WHERE a.run_id = r.run_id
      ORDER BY a.attempt DESC LIMIT 1), 'none') END AS state
FROM runs r;
CREATE VIEW artefact_points AS
SELECT artefact, scale, point, run_id, L_train_nominal, L_valid_nominal, stride_nominal
FROM points;
CREATE VIEW wanted_evaluations AS
SELECT p.artefact, r.scale, r.dataset, r.corpus, r.model, r.position,
  coalesce(m.display, r.position) AS method, coalesce(m.place, 99) AS place,
  'L=' || r.L_train || CASE WHEN r.L_train <> p.L_train_nominal
    THEN ' (' || p.L_train_nominal || ')' ELSE '' END AS trained_on,
  r.L_train, coalesce(p.L_train_nominal, r.L_train) AS L_train_nominal,
  r.L_valid, coalesce(p.L_valid_nominal, r.L_valid) AS L_valid_nominal,
  r.split, r.protocol, r.stride, r.first_window, r.precision, r.seed,
  e.perplexity, e.loss_nats, e.tokens, e.nonfinite, e.eval_wps, e.peak_memory_bytes,
  q.parameters, t.updates, t.tokens_per_update, t.train_wps,
  t.peak_memory_bytes AS train_memory_bytes, b.wps AS alone_wps,
  b.peak_memory_bytes AS alone_memory_bytes, b.device AS alone_device,
  CASE WHEN e.nonfinite > 0 THEN 'not finite'
    WHEN m.bounded AND r.L_valid > r.L_train THEN 'not defined'
    WHEN e.run_id IS NULL AND (SELECT a.state FROM run_attempts a WHERE a.run_id = r.train_run_id
      ORDER BY a.attempt DESC LIMIT 1) = 'diverged' THEN 'diverged' END AS state,
  coalesce(e.modified, r.modified) AS modified, r.run_id, r.train_run_id, r.config_id,
  e.code_id, e.device, e.finished_at, p.point, b.noisy AS alone_noisy, r.checkpoint, r.targets,
  s.position_scaling, s.position_scaling_factor, s.attention_window, s.attention_sinks, s.settings
FROM points p
JOIN runs r ON r.run_id = p.run_id AND r.kind = 'eval'
JOIN evaluation_settings s ON s.run_id = p.run_id
JOIN runs q ON q.run_id = r.train_run_id
LEFT JOIN position_methods m ON m.position = r.position
LEFT JOIN evaluations e ON e.run_id = r.run_id
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
WITH RECURSIVE
lines(run_id, line, rest) AS (
  SELECT run_id, NULL, spec || char(10) FROM runs
  UNION ALL
  SELECT run_id, substr(rest, 1, instr(rest, char(10)) - 1), substr(rest, instr(rest, char(10)) + 1)
  FROM lines WHERE rest <> ''),
pairs(run_id, key, value) AS (
  SELECT run_id, substr(line, 1, instr(line, '=') - 1), substr(line, instr(line, '=') + 1)
  FROM lines WHERE line <> '')
SELECT run_id, key, value FROM pairs
UNION ALL
SELECT r.run_id, t.key, t.value
FROM runs r
JOIN pairs t ON t.run_id = r.train_run_id
WHERE substr(t.key, 1, 5) IN ('data.', 'train')
OR (substr(t.key, 1, 6) = 'model.' AND t.key <> 'model.name');
CREATE VIEW grid_settings AS
WITH RECURSIVE
asked AS (
  SELECT DISTINCT p.artefact, p.scale, p.run_id, t.config_id, t.run_id AS train_id
  FROM points p
  JOIN runs r ON r.run_id = p.run_id
  JOIN runs t ON t.run_id = coalesce(r.train_run_id, p.run_id)),
configs AS MATERIALIZED (
  SELECT artefact, scale, config_id, min(train_id) AS train_id
  FROM asked GROUP BY artefact, scale, config_id),
lines(run_id, line, rest) AS (
  SELECT run_id, NULL, spec || char(10) FROM runs WHERE run_id IN (SELECT train_id FROM configs)
  UNION ALL
  SELECT run_id, substr(rest, 1, instr(rest, char(10)) - 1), substr(rest, instr(rest, char(10)) + 1)
  FROM lines WHERE rest <> ''),
pairs(run_id, key, value) AS (
  SELECT run_id, substr(line, 1, instr(line, '=') - 1), substr(line, instr(line, '=') + 1)
  FROM lines WHERE line <> ''),
kept AS MATERIALIZED (
  SELECT c.artefact, c.scale, c.config_id, r.kind, r.dataset, r.corpus, r.model, r.position,
    r.L_train, s.key, s.value
  FROM configs c
  JOIN runs r ON r.run_id = c.train_id
  JOIN pairs s ON s.run_id = c.train_id
  WHERE s.key <> 'train.seed' AND substr(s.key, 1, 6) <> 'bench.'),
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
COMMIT;
PRAGMA application_id=1095518530;
PRAGMA user_version=3;
