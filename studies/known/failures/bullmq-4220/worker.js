// Works on the job until its scheduler is gone, and says so to the server, at which point it is killed.
const { Worker } = require("bullmq");
const { Redis } = require("ioredis");

const connection = { url: process.argv[2], maxRetriesPerRequest: null };
const redis = new Redis(process.argv[2]);

function event(op, id) {
  process.stdout.write(JSON.stringify({ op, id, t_ns: Date.now() * 1e6 }) + "\n");
}

const own = { connection, lockDuration: 1000, stalledInterval: 500, maxStalledCount: 0 };
const worker = new Worker("jobs", async (job) => {
  event("begin", job.id);
  while ((await redis.get("gone")) === null) await new Promise((done) => setTimeout(done, 20));
  await redis.set("removed", job.id);
}, own);
worker.on("completed", (job) => event("end", job.id));
worker.on("failed", (job, error) => console.error(`${job?.id}: ${error.message}`));
worker.on("error", (error) => console.error(error.message));
worker.waitUntilReady().then(() => console.error("ready"));
