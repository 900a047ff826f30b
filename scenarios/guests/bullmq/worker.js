// Works on the jobs. A lock lasts $LOCK_MS, and its holder renews it; who has lost it is looked for each second.
const { Worker } = require("bullmq");

function event(op, id) {
  process.stdout.write(JSON.stringify({ op, id, t_ns: Date.now() * 1e6 }) + "\n");
}

const options = {
  connection: { url: process.argv[2], maxRetriesPerRequest: null },
  lockDuration: Number(process.env.LOCK_MS ?? 2000),
  stalledInterval: 1000,
  maxStalledCount: Number(process.env.STALLED_MAX ?? 10),
};
const worker = new Worker(process.env.QUEUE ?? "default", async (job) => {
  event("begin", job.id);
  await new Promise((done) => setTimeout(done, job.data.ms));
  event("ending", job.id);
}, options);
worker.on("completed", (job) => event("end", job.id));
worker.on("failed", (job, error) => (job ? event("failed", job.id) : console.error(error.message)));
worker.on("error", (error) => console.error(error.message));
worker.waitUntilReady().then(() => console.error("ready"));
