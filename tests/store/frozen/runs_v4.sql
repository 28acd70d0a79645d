-- The dump of the results.db that commit 549a655e (schema version 4) wrote when it ran g/grid.yaml, without the paper's
-- numbers, host and path. Never change it; see tests/cli/test_old_databases.sh.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE checkpoint_files( attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), sequence INTEGER NOT NULL, step INTEGER NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, best INTEGER NOT NULL CHECK(best IN(0,1)), bytes INTEGER, PRIMARY KEY(attempt_id,sequence)) STRICT;
INSERT INTO "checkpoint_files" VALUES(1,9,5,'update-000000005.safetensors','6c864bf0a3a9556731d82f00d89ca6ec664fde898ffbbf612f8b9de166201c6d',1,95704);
INSERT INTO "checkpoint_files" VALUES(1,16,10,'update-000000010.safetensors','913baa1d4739b799ebf364c7b83ea44a4b5c03fcf464751bb66ea5885018dd56',1,95704);
INSERT INTO "checkpoint_files" VALUES(5,9,5,'update-000000005.safetensors','0bd539a67bee6fbafc23a8f8a4e4c650365266b2ab171403efcf3aec972c6092',1,95840);
INSERT INTO "checkpoint_files" VALUES(5,16,10,'update-000000010.safetensors','9f57296f7800b12b5a6e4443bcae2a25d6a4d4692a8d521c112dcce423c47691',1,95840);
CREATE TABLE "claim_verdicts"( artefact TEXT NOT NULL, scale TEXT NOT NULL, claim TEXT NOT NULL, statement TEXT NOT NULL, verdict TEXT NOT NULL  CHECK(verdict IN('supported','contradicted','not run','not judged')), evidence TEXT, judged_at TEXT NOT NULL, PRIMARY KEY(artefact,scale,claim)) STRICT;
CREATE TABLE curve_points( attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), split TEXT NOT NULL CHECK(split IN('train','valid')), step INTEGER NOT NULL, best INTEGER CHECK(best IN(0,1)), loss_nats REAL, lr REAL, grad_norm REAL, epoch INTEGER, perplexity REAL, PRIMARY KEY(attempt_id,split,step)) STRICT, WITHOUT ROWID;
INSERT INTO "curve_points" VALUES(1,'train',1,NULL,8.52926505567554471554e+00,0.0,4.80240354606034269835e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',2,NULL,8.53338991268538,0.00125,8.62880924609083,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',3,NULL,8.36055621621199,0.0025,6.29556562034344757705e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',4,NULL,8.18711180146783590316e+00,0.00375,4.15025338138904054119e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',5,NULL,8.22993695293553173542e+00,0.005,6.40246431896698364738e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',6,NULL,8.5295654818182811141e+00,4.66506350946109711597e-03,1.12375910532845129101e+01,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',7,NULL,8.76911474880762398242e+00,0.00375,5.25848469473672608387e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',8,NULL,8.23805372626520693302e+00,0.0025,3.99455004051561290978e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',9,NULL,8.12607904088994,1.25000000000000067654e-03,3.96264365453535205574e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'train',10,NULL,8.19889388629235327243e+00,3.34936490538903259162e-04,4.49953082146160099341e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(1,'valid',5,1,8.90232584364712309366e+00,NULL,NULL,1,7.34904640995057525281e+03);
INSERT INTO "curve_points" VALUES(1,'valid',10,1,8.88462781272828650003e+00,NULL,NULL,1,7220.12693479082);
INSERT INTO "curve_points" VALUES(5,'train',1,NULL,8.5518536847196742201e+00,0.0,4.51355335970903670528e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',2,NULL,8.51533166284207254648e+00,0.00125,6.56334813083432511149e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',3,NULL,8.3287627827376127243e+00,0.0025,6.25484587286535376193e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',4,NULL,8.17803322547115385532e+00,0.00375,3.85142901512440305467e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',5,NULL,8.22247834142763167619e+00,0.005,7.1777712662006640798e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',6,NULL,8.51226674858480691909e+00,4.66506350946109711597e-03,1.64986560989017831961e+01,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',7,NULL,8.75713667401578277349e+00,0.00375,4.89235101116770909612e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',8,NULL,8.20943084405735135078e+00,0.0025,3.70414833843317703454e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',9,NULL,8.12934042699635,1.25000000000000067654e-03,3.9093917910432178786e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'train',10,NULL,8.19660825724713504314e+00,3.34936490538903259162e-04,4.0546988899847766774e+00,NULL,NULL);
INSERT INTO "curve_points" VALUES(5,'valid',5,1,8.87340010628104280954e+00,NULL,NULL,1,7.13951486024710720804e+03);
INSERT INTO "curve_points" VALUES(5,'valid',10,1,8.85636346787214279174e+00,NULL,NULL,1,7.01891177973815683782e+03);
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
CREATE TABLE position_losses( result_id INTEGER NOT NULL REFERENCES results(result_id), first INTEGER NOT NULL, last INTEGER NOT NULL, targets INTEGER NOT NULL, nll REAL, PRIMARY KEY(result_id,first)) STRICT, WITHOUT ROWID;
INSERT INTO "position_losses" VALUES(2,1,1,1,1.30731086730957031245e+01);
INSERT INTO "position_losses" VALUES(2,2,2,1,1.90045452117919921875e+01);
INSERT INTO "position_losses" VALUES(2,3,3,1,8.20571136474609375e+00);
INSERT INTO "position_losses" VALUES(2,4,4,1,4.57064533233642578125e+00);
INSERT INTO "position_losses" VALUES(2,5,6,2,1.71666574478149414062e+01);
INSERT INTO "position_losses" VALUES(2,7,8,2,2.09220390319824218745e+01);
INSERT INTO "position_losses" VALUES(2,9,12,4,5.68888950347900390625e+01);
INSERT INTO "position_losses" VALUES(2,13,16,52,4.4829264307022094727e+02);
INSERT INTO "position_losses" VALUES(3,1,1,20,1.82652958631515502929e+02);
INSERT INTO "position_losses" VALUES(3,2,2,20,2.10818882942199707034e+02);
INSERT INTO "position_losses" VALUES(3,3,3,20,2.20754404544830322258e+02);
INSERT INTO "position_losses" VALUES(3,4,4,20,1.81674338102340698249e+02);
INSERT INTO "position_losses" VALUES(3,5,6,40,3.2207896304130554199e+02);
INSERT INTO "position_losses" VALUES(3,7,8,40,3.03748364925384521477e+02);
INSERT INTO "position_losses" VALUES(3,9,12,80,7.40894567728042602533e+02);
INSERT INTO "position_losses" VALUES(3,13,16,80,6.92291647434234619145e+02);
INSERT INTO "position_losses" VALUES(3,17,24,160,1.41228057789802551274e+03);
INSERT INTO "position_losses" VALUES(3,25,32,160,1.41896709489822387697e+03);
INSERT INTO "position_losses" VALUES(4,1,1,10,8.17869994640350341831e+01);
INSERT INTO "position_losses" VALUES(4,2,2,10,1.18018784046173095701e+02);
INSERT INTO "position_losses" VALUES(4,3,3,10,1.00511532783508300776e+02);
INSERT INTO "position_losses" VALUES(4,4,4,10,8.21890237331390380824e+01);
INSERT INTO "position_losses" VALUES(4,5,6,20,1.70486147165298461913e+02);
INSERT INTO "position_losses" VALUES(4,7,8,20,1.37884029150009155271e+02);
INSERT INTO "position_losses" VALUES(4,9,12,40,3.40408773660659790048e+02);
INSERT INTO "position_losses" VALUES(4,13,16,40,3.30010720491409301766e+02);
INSERT INTO "position_losses" VALUES(4,17,24,80,7.17239426136016845715e+02);
INSERT INTO "position_losses" VALUES(4,25,32,80,690.813333272934);
INSERT INTO "position_losses" VALUES(4,33,48,160,1.46247600412368774416e+03);
INSERT INTO "position_losses" VALUES(4,49,64,160,1.41919175601005554199e+03);
INSERT INTO "position_losses" VALUES(6,1,1,20,1.82662615537643432611e+02);
INSERT INTO "position_losses" VALUES(6,2,2,20,2.10943911075592041006e+02);
INSERT INTO "position_losses" VALUES(6,3,3,20,2.19945491313934326171e+02);
INSERT INTO "position_losses" VALUES(6,4,4,20,1.8284989762306213379e+02);
INSERT INTO "position_losses" VALUES(6,5,6,40,3.19982064247131347666e+02);
INSERT INTO "position_losses" VALUES(6,7,8,40,302.229998588562);
INSERT INTO "position_losses" VALUES(6,9,12,80,7.38128168821334838855e+02);
INSERT INTO "position_losses" VALUES(6,13,16,80,6.87879780054092407207e+02);
INSERT INTO "position_losses" VALUES(6,17,24,160,1.40486805915832519524e+03);
INSERT INTO "position_losses" VALUES(6,25,32,160,1.41858263301849365231e+03);
INSERT INTO "position_losses" VALUES(7,1,1,10,8.17956402301788330043e+01);
INSERT INTO "position_losses" VALUES(7,2,2,10,1.18261925697326660152e+02);
INSERT INTO "position_losses" VALUES(7,3,3,10,9.98210482597351074236e+01);
INSERT INTO "position_losses" VALUES(7,4,4,10,8.24527056217193603498e+01);
INSERT INTO "position_losses" VALUES(7,5,6,20,1.69088801383972167973e+02);
INSERT INTO "position_losses" VALUES(7,7,8,20,1.36926287412643432617e+02);
INSERT INTO "position_losses" VALUES(7,9,12,40,3.3836449885368347168e+02);
INSERT INTO "position_losses" VALUES(7,13,16,40,3.28501753807067871089e+02);
INSERT INTO "position_losses" VALUES(7,17,24,80,7.12216398239135742168e+02);
INSERT INTO "position_losses" VALUES(7,25,32,80,690.342432975769);
INSERT INTO "position_losses" VALUES(7,33,48,160,1.46013206601142883295e+03);
INSERT INTO "position_losses" VALUES(7,49,64,160,1.4152821474075317383e+03);
CREATE TABLE progress_now( attempt_id INTEGER PRIMARY KEY REFERENCES run_attempts(attempt_id), sequence INTEGER NOT NULL, updated_at TEXT NOT NULL, done REAL, total REAL, loss_nats REAL, wps REAL) STRICT;
CREATE TABLE results( result_id INTEGER PRIMARY KEY, attempt_id INTEGER NOT NULL REFERENCES run_attempts(attempt_id), run_id TEXT NOT NULL REFERENCES runs(run_id), kind TEXT NOT NULL CHECK(kind IN('train','eval','bench')), sequence INTEGER NOT NULL, current INTEGER NOT NULL CHECK(current IN(0,1)), late INTEGER NOT NULL CHECK(late IN(0,1)), updates INTEGER, final_loss_nats REAL, perplexity REAL, tokens INTEGER, nonfinite INTEGER, wps REAL, peak_memory_bytes INTEGER, wall_seconds REAL, tokens_per_update INTEGER, parameters INTEGER, train_wps REAL, best_checkpoint TEXT, best_sha256 TEXT, last_checkpoint TEXT, last_sha256 TEXT, loss_nats REAL, eval_wps REAL, checkpoint_sha256 TEXT, position_loss TEXT, mfu REAL, batch_tokens INTEGER, cpu_share REAL, switches_per_s REAL, UNIQUE(attempt_id,sequence), CHECK(current=0 OR late=0), CHECK(kind<>'train' OR(updates IS NOT NULL AND final_loss_nats IS NOT NULL)), CHECK(kind<>'eval' OR(tokens IS NOT NULL AND nonfinite IS NOT NULL  AND(nonfinite=0)=(perplexity IS NOT NULL))), CHECK(kind<>'bench' OR wps IS NOT NULL)) STRICT;
INSERT INTO "results" VALUES(1,1,'4219a3da95af1d7a','train',17,1,0,10,8.19889388629235327243e+00,NULL,NULL,NULL,NULL,17391616,0.137259,512,22656,9.79096784750061196935e+04,'update-000000010.safetensors','913baa1d4739b799ebf364c7b83ea44a4b5c03fcf464751bb66ea5885018dd56','update-000000010.safetensors','913baa1d4739b799ebf364c7b83ea44a4b5c03fcf464751bb66ea5885018dd56',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(2,2,'db253c97668c4241','eval',3,1,0,NULL,NULL,9.79317830287328797578e+03,64,0,NULL,16900096,0.011203,NULL,NULL,NULL,NULL,NULL,NULL,NULL,9.18944133073091506958e+00,6.5796237277680684201e+03,'913baa1d4739b799ebf364c7b83ea44a4b5c03fcf464751bb66ea5885018dd56',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(3,3,'355aa1605217ad6a','eval',3,1,0,NULL,NULL,7220.12693479082,640,0,NULL,16814080,2.85699999999999973074e-03,NULL,NULL,NULL,NULL,NULL,NULL,NULL,8.88462781272828650003e+00,5.77096483318304759443e+05,'913baa1d4739b799ebf364c7b83ea44a4b5c03fcf464751bb66ea5885018dd56',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(4,4,'e9adaec8e7b1b180','eval',4,1,0,NULL,NULL,6.83432732573663361116e+03,640,0,NULL,16838656,7.30899999999999952504e-03,NULL,NULL,NULL,NULL,NULL,NULL,NULL,8.82971332818269694087e+00,1.05662869407297344882e+05,'913baa1d4739b799ebf364c7b83ea44a4b5c03fcf464751bb66ea5885018dd56',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(5,5,'ecec62697e0ad8a9','train',17,1,0,10,8.19660825724713504314e+00,NULL,NULL,NULL,NULL,17485824,8.35129999999999900195e-02,512,22656,1.20424643405197362878e+05,'update-000000010.safetensors','9f57296f7800b12b5a6e4443bcae2a25d6a4d4692a8d521c112dcce423c47691','update-000000010.safetensors','9f57296f7800b12b5a6e4443bcae2a25d6a4d4692a8d521c112dcce423c47691',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(6,6,'76266279faf7f5f1','eval',3,1,0,NULL,NULL,7.01891177973815683782e+03,640,0,NULL,16896000,0.002168,NULL,NULL,NULL,NULL,NULL,NULL,NULL,8.85636346787214279174e+00,6.81576144834930775688e+05,'9f57296f7800b12b5a6e4443bcae2a25d6a4d4692a8d521c112dcce423c47691',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "results" VALUES(7,7,'b2e05d1a0dcf8a4d','eval',4,1,0,NULL,NULL,6646.54643368392,640,0,NULL,17047552,0.005272,NULL,NULL,NULL,NULL,NULL,NULL,NULL,8.80185266546905,6.74394099051633267661e+05,'9f57296f7800b12b5a6e4443bcae2a25d6a4d4692a8d521c112dcce423c47691',NULL,NULL,NULL,NULL,NULL);
CREATE TABLE run_attempts( attempt_id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, run_id TEXT NOT NULL REFERENCES runs(run_id), attempt INTEGER NOT NULL CHECK(attempt>=1), state TEXT NOT NULL  CHECK(state IN('running','done','failed','diverged','lost','cancelled')), slot TEXT, boot_id TEXT, pid INTEGER, pid_start INTEGER, dir TEXT NOT NULL, started_at TEXT NOT NULL, ended_at TEXT, exit_code INTEGER, signal INTEGER, message TEXT, merged_from TEXT, host TEXT, device TEXT, backend TEXT, blas TEXT, threads INTEGER, code_id TEXT, program TEXT, choices TEXT, UNIQUE(run_id,attempt), CHECK((state='running')=(ended_at IS NULL))) STRICT;
INSERT INTO "run_attempts" VALUES(1,'9b836c79c12e4e7e5e3ef2c1704fffe5','4219a3da95af1d7a',1,'done','cpu','boot',31908,690193,'runs/4219a3da95af1d7a/1','2026-11-24T15:51:17Z','2026-11-24T15:51:17Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','own products',1,'unknown','alibi',NULL);
INSERT INTO "run_attempts" VALUES(2,'64acbef0b8201157fd3a7788898ff6da','db253c97668c4241',1,'done','cpu','boot',31909,690214,'runs/db253c97668c4241/1','2026-11-24T15:51:18Z','2026-11-24T15:51:18Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','own products',1,'unknown','alibi',NULL);
INSERT INTO "run_attempts" VALUES(3,'4c858e8d54a08baca8a92309865bcaed','355aa1605217ad6a',1,'done','cpu','boot',31910,690220,'runs/355aa1605217ad6a/1','2026-11-24T15:51:18Z','2026-11-24T15:51:18Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','own products',1,'unknown','alibi',NULL);
INSERT INTO "run_attempts" VALUES(4,'7767b728deb2466cba6a7f10b6690739','e9adaec8e7b1b180',1,'done','cpu','boot',31910,690220,'runs/355aa1605217ad6a/1','2026-11-24T15:51:18Z','2026-11-24T15:51:18Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','own products',1,'unknown','alibi',NULL);
INSERT INTO "run_attempts" VALUES(5,'2832a4bb0c309dc22efb9360ae7f877b','ecec62697e0ad8a9',1,'done','cpu','boot',31911,690226,'runs/ecec62697e0ad8a9/1','2026-11-24T15:51:18Z','2026-11-24T15:51:18Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','own products',1,'unknown','alibi',NULL);
INSERT INTO "run_attempts" VALUES(6,'e5f26aca2e4c12b8c01ddd64b5ac0890','76266279faf7f5f1',1,'done','cpu','boot',31912,690238,'runs/76266279faf7f5f1/1','2026-11-24T15:51:18Z','2026-11-24T15:51:18Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','own products',1,'unknown','alibi',NULL);
INSERT INTO "run_attempts" VALUES(7,'6e9208c8b4b102e071d8bb328d5767a0','b2e05d1a0dcf8a4d',1,'done','cpu','boot',31912,690238,'runs/76266279faf7f5f1/1','2026-11-24T15:51:18Z','2026-11-24T15:51:18Z',0,NULL,NULL,NULL,'here','AMD EPYC, 1 thread, v3 kernels','cpu','own products',1,'unknown','alibi',NULL);
CREATE TABLE run_settings( run_id TEXT NOT NULL REFERENCES runs(run_id), key TEXT NOT NULL, value TEXT NOT NULL, hashed INTEGER NOT NULL CHECK(hashed IN(0,1)), PRIMARY KEY(run_id,key)) STRICT, WITHOUT ROWID;
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','eval.L','32',1);
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','eval.attention_window','0',0);
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','eval.checkpoint','best',0);
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','eval.position_scaling','none',0);
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','eval.precision','fp32',0);
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','eval.split','valid',1);
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','eval.targets','0',0);
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','eval.train_run','4219a3da95af1d7a',1);
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','eval.window','nonoverlapping',1);
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','kind','eval',1);
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','meaning','1',1);
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','model.name','',0);
INSERT INTO "run_settings" VALUES('355aa1605217ad6a','scale','none',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','data.corpus','tiny',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','data.dataset','tiny',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','data.fingerprint','17e6e723c5dab1efd2196dbb08e061db5b3129a4cdb89ac31a5a070da2a3f40e',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','data.test_tokens','581',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','data.train_tokens','7347',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','data.valid_tokens','640',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','data.vocab','208',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','kind','train',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','meaning','1',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.adaptive_factor','2',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.alibi_slopes','none',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.alibi_slopes_mean','1',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.alibi_slopes_source','geometric',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.attention_window','0',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.cutoffs','64,128',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.dim','32',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.dropout','0',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.dropout_attention','0',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.dropout_relu','0',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.dropout_softmax','0',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.ffn','64',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.final_norm','false',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.heads','4',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.layers','2',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.name','',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.position','alibi',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','model.softmax','adaptive',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','scale','none',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.L','32',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.clip','0.1',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.lr','0.005',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.lr_init','0',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.lr_min','0',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.lr_shrink','1',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.momentum','0.9',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.optimizer','nag',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.origin','trained',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.period','6',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.period_multiplier','1',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.precision','fp32',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.schedule','cosine',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.seed','1',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.shard_tokens','512',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.shards','1',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.tail_quirk','false',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.updates','10',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.validate_L','0',0);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.validate_every','5',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.warmup','4',1);
INSERT INTO "run_settings" VALUES('4219a3da95af1d7a','train.weight_decay','0',0);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','eval.L','32',1);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','eval.attention_window','0',0);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','eval.checkpoint','best',0);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','eval.position_scaling','none',0);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','eval.precision','fp32',0);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','eval.split','valid',1);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','eval.targets','0',0);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','eval.train_run','ecec62697e0ad8a9',1);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','eval.window','nonoverlapping',1);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','kind','eval',1);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','meaning','1',1);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','model.name','',0);
INSERT INTO "run_settings" VALUES('76266279faf7f5f1','scale','none',1);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','eval.L','64',1);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','eval.attention_window','0',0);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','eval.checkpoint','best',0);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','eval.position_scaling','none',0);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','eval.precision','fp32',0);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','eval.split','valid',1);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','eval.targets','0',0);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','eval.train_run','ecec62697e0ad8a9',1);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','eval.window','nonoverlapping',1);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','kind','eval',1);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','meaning','1',1);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','model.name','',0);
INSERT INTO "run_settings" VALUES('b2e05d1a0dcf8a4d','scale','none',1);
INSERT INTO "run_settings" VALUES('db253c97668c4241','eval.L','16',1);
INSERT INTO "run_settings" VALUES('db253c97668c4241','eval.attention_window','0',0);
INSERT INTO "run_settings" VALUES('db253c97668c4241','eval.checkpoint','best',0);
INSERT INTO "run_settings" VALUES('db253c97668c4241','eval.position_scaling','none',0);
INSERT INTO "run_settings" VALUES('db253c97668c4241','eval.precision','fp32',0);
INSERT INTO "run_settings" VALUES('db253c97668c4241','eval.split','valid',1);
INSERT INTO "run_settings" VALUES('db253c97668c4241','eval.stride','1',1);
INSERT INTO "run_settings" VALUES('db253c97668c4241','eval.targets','64',1);
INSERT INTO "run_settings" VALUES('db253c97668c4241','eval.train_run','4219a3da95af1d7a',1);
INSERT INTO "run_settings" VALUES('db253c97668c4241','eval.window','sliding',1);
INSERT INTO "run_settings" VALUES('db253c97668c4241','kind','eval',1);
INSERT INTO "run_settings" VALUES('db253c97668c4241','meaning','1',1);
INSERT INTO "run_settings" VALUES('db253c97668c4241','model.name','',0);
INSERT INTO "run_settings" VALUES('db253c97668c4241','scale','none',1);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','eval.L','64',1);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','eval.attention_window','0',0);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','eval.checkpoint','best',0);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','eval.position_scaling','none',0);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','eval.precision','fp32',0);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','eval.split','valid',1);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','eval.targets','0',0);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','eval.train_run','4219a3da95af1d7a',1);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','eval.window','nonoverlapping',1);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','kind','eval',1);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','meaning','1',1);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','model.name','',0);
INSERT INTO "run_settings" VALUES('e9adaec8e7b1b180','scale','none',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','data.corpus','tiny',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','data.dataset','tiny',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','data.fingerprint','17e6e723c5dab1efd2196dbb08e061db5b3129a4cdb89ac31a5a070da2a3f40e',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','data.test_tokens','581',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','data.train_tokens','7347',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','data.valid_tokens','640',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','data.vocab','208',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','kind','train',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','meaning','1',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.adaptive_factor','2',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.attention_window','0',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.cutoffs','64,128',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.dim','32',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.dropout','0',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.dropout_attention','0',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.dropout_relu','0',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.dropout_softmax','0',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.ffn','64',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.final_norm','false',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.heads','4',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.layers','2',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.name','',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.position','rotary',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.rope_original_length','0',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.rope_scaling','none',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.rope_scaling_factor','1',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.rotary_base','10000',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.rotary_layout','adjacent_pairs',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.softmax','adaptive',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.yarn_attention_factor','0',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.yarn_beta_fast','32',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','model.yarn_beta_slow','1',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','scale','none',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.L','32',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.clip','0.1',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.lr','0.005',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.lr_init','0',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.lr_min','0',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.lr_shrink','1',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.momentum','0.9',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.optimizer','nag',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.origin','trained',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.period','6',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.period_multiplier','1',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.precision','fp32',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.schedule','cosine',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.seed','1',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.shard_tokens','512',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.shards','1',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.tail_quirk','false',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.updates','10',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.validate_L','0',0);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.validate_every','5',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.warmup','4',1);
INSERT INTO "run_settings" VALUES('ecec62697e0ad8a9','train.weight_decay','0',0);
CREATE TABLE runs( run_id TEXT PRIMARY KEY, kind TEXT NOT NULL CHECK(kind IN('train','eval','bench')), config_id TEXT NOT NULL, train_run_id TEXT REFERENCES runs(run_id), scale TEXT NOT NULL, modified INTEGER NOT NULL CHECK(modified IN(0,1)), origin TEXT NOT NULL CHECK(origin IN('trained','imported')), dataset TEXT NOT NULL, corpus TEXT NOT NULL, model TEXT NOT NULL, position TEXT NOT NULL, L_train INTEGER NOT NULL, seed INTEGER NOT NULL, precision TEXT NOT NULL, parameters INTEGER, L_valid INTEGER, split TEXT, protocol TEXT, stride INTEGER, first_window TEXT, checkpoint TEXT, targets INTEGER, mode TEXT, flops REAL, canonical TEXT NOT NULL, spec TEXT NOT NULL, created_at TEXT NOT NULL, updates INTEGER, CHECK((kind='eval')=(train_run_id IS NOT NULL)), CHECK(kind<>'eval' OR(L_valid IS NOT NULL AND split IS NOT NULL AND protocol IS NOT NULL)), CHECK((kind='bench')=(mode IS NOT NULL))) STRICT;
INSERT INTO "runs" VALUES('4219a3da95af1d7a','train','7bc7e9a6047902b7',NULL,'none',0,'trained','tiny','tiny','','alibi',32,1,'fp32',22656,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,6.75481048274902701362e+08,'data.corpus=tiny
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
model.alibi_slopes_mean=1
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
train.origin=trained
train.precision=fp32
train.tail_quirk=false
train.validate_every=5
train.validate_L=0
meaning=1
','2026-11-24T15:51:17Z',10);
INSERT INTO "runs" VALUES('355aa1605217ad6a','eval','4a80fac07772592f','4219a3da95af1d7a','none',0,'trained','tiny','tiny','','alibi',32,1,'fp32',22656,32,'valid','nonoverlapping',NULL,'whole','best',0,NULL,2.81450436781209409244e+07,'eval.L=32
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
','2026-11-24T15:51:17Z',NULL);
INSERT INTO "runs" VALUES('e9adaec8e7b1b180','eval','8a0062c1af1af837','4219a3da95af1d7a','none',0,'trained','tiny','tiny','','alibi',32,1,'fp32',22656,64,'valid','nonoverlapping',NULL,'whole','best',0,NULL,3.07664836781209409229e+07,'eval.L=64
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
','2026-11-24T15:51:17Z',NULL);
INSERT INTO "runs" VALUES('db253c97668c4241','eval','12d094407efa65e5','4219a3da95af1d7a','none',0,'trained','tiny','tiny','','alibi',32,1,'fp32',22656,16,'valid','sliding',1,'growing','best',64,NULL,3.74244086742298901079e+07,'eval.L=16
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
','2026-11-24T15:51:17Z',NULL);
INSERT INTO "runs" VALUES('ecec62697e0ad8a9','train','730ab5229f37334c',NULL,'none',0,'trained','tiny','tiny','','rotary',32,1,'fp32',22656,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,6.75481048274902701362e+08,'data.corpus=tiny
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
train.origin=trained
train.precision=fp32
train.tail_quirk=false
train.validate_every=5
train.validate_L=0
meaning=1
','2026-11-24T15:51:17Z',10);
INSERT INTO "runs" VALUES('76266279faf7f5f1','eval','64f46ba9e1718f5e','ecec62697e0ad8a9','none',0,'trained','tiny','tiny','','rotary',32,1,'fp32',22656,32,'valid','nonoverlapping',NULL,'whole','best',0,NULL,2.81450436781209409244e+07,'eval.L=32
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
','2026-11-24T15:51:17Z',NULL);
INSERT INTO "runs" VALUES('b2e05d1a0dcf8a4d','eval','1e663d75422600c0','ecec62697e0ad8a9','none',0,'trained','tiny','tiny','','rotary',32,1,'fp32',22656,64,'valid','nonoverlapping',NULL,'whole','best',0,NULL,3.07664836781209409229e+07,'eval.L=64
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
','2026-11-24T15:51:17Z',NULL);
CREATE INDEX runs_of_training ON runs(train_run_id);
CREATE INDEX points_of_run ON points(run_id);
CREATE UNIQUE INDEX one_running_attempt ON run_attempts(run_id) WHERE state='running';
CREATE UNIQUE INDEX one_current_result ON results(run_id) WHERE current=1;
CREATE INDEX results_of_run ON results(run_id);
CREATE TRIGGER an_attempt_ends_once BEFORE UPDATE OF attempt_id,uid,run_id,attempt,state,slot,device,backend,host,boot_id,pid,pid_start,blas,threads,code_id,program,started_at,ended_at,exit_code,signal,message,merged_from,choices ON run_attempts WHEN OLD.state<>'running' BEGIN SELECT RAISE(ABORT,'an ended attempt is never rewritten'); END;
CREATE VIEW position_methods AS SELECT NULL AS position, NULL AS display, NULL AS place, NULL AS style, NULL AS bounded WHERE 0 UNION ALL SELECT 'sinusoidal','Sinusoidal',1,1,0 UNION ALL SELECT 'rotary','Rotary',2,2,0 UNION ALL SELECT 't5','T5 Bias',3,3,0 UNION ALL SELECT 'alibi','ALiBi',4,4,0 UNION ALL SELECT 'none','NoPE',5,6,0 UNION ALL SELECT 'learned','Learned',6,7,1 UNION ALL SELECT 'alibi_learned','ALiBi, learned slopes',7,8,0 UNION ALL SELECT 'kerple_log','KERPLE-log',8,9,0 UNION ALL SELECT 'kerple_power','KERPLE-power',9,10,0 UNION ALL SELECT 'sandwich','Sandwich',10,11,0 UNION ALL SELECT 'tisa','TISA',11,12,0;
CREATE VIEW run_origins AS
SELECT run_id, coalesce((SELECT value FROM run_settings s
    WHERE s.run_id = r.run_id AND s.key = 'train.origin' AND s.hashed), origin) AS origin
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
CREATE VIEW evaluations AS
SELECT r.scale, r.dataset, r.model, r.position, r.L_train, r.L_valid,
  coalesce((SELECT min(p.L_train_nominal) FROM points p WHERE p.run_id = r.run_id), r.L_train)
    AS L_train_nominal,
  coalesce((SELECT min(p.L_valid_nominal) FROM points p WHERE p.run_id = r.run_id), r.L_valid)
    AS L_valid_nominal,
  r.split, r.protocol, r.stride, r.first_window, r.precision, r.seed,
  v.perplexity, v.loss_nats, v.tokens, v.nonfinite, v.eval_wps, v.peak_memory_bytes,
  coalesce(a.device, a.slot) AS device, o.origin, r.run_id, r.train_run_id, r.config_id,
  a.code_id, a.ended_at AS finished_at,
  r.checkpoint, r.targets, max(r.modified, t.modified) AS modified, v.checkpoint_sha256,
  v.wall_seconds, a.attempt, r.corpus, a.backend, s.position_scaling, s.position_scaling_factor,
  s.attention_window, s.attention_sinks, s.settings
FROM results v
JOIN runs r ON r.run_id = v.run_id
JOIN run_attempts a ON a.attempt_id = v.attempt_id
JOIN runs t ON t.run_id = r.train_run_id
JOIN run_origins o ON o.run_id = r.train_run_id
JOIN evaluation_settings s ON s.run_id = v.run_id
WHERE v.current = 1 AND v.kind = 'eval';
CREATE VIEW position_loss AS
SELECT r.scale, r.dataset, r.model, r.position, r.L_train, r.L_valid, r.split, r.protocol,
  r.stride, r.seed, b.first, b.last, b.targets, b.nll, b.nll / b.targets AS loss_nats,
  exp(b.nll / b.targets) AS perplexity, r.run_id, r.train_run_id, r.config_id,
  max(r.modified, t.modified) AS modified, r.precision, r.checkpoint, s.settings
FROM results v
JOIN position_losses b ON b.result_id = v.result_id
JOIN runs r ON r.run_id = v.run_id
JOIN runs t ON t.run_id = r.train_run_id
JOIN evaluation_settings s ON s.run_id = v.run_id
WHERE v.current = 1 AND v.kind = 'eval';
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
  o.origin, r.precision, r.modified, v.best_sha256, v.last_sha256, a.attempt, r.corpus, a.backend
FROM results v
JOIN runs r ON r.run_id = v.run_id
JOIN run_origins o ON o.run_id = v.run_id
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
    coalesce(i.origin, r.origin) AS origin, coalesce(a.device, a.slot) AS device,
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
COMMIT;
PRAGMA application_id=1095518530;
PRAGMA user_version=4;
