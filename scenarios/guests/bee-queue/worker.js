// Works on the jobs. A job is stalled after $STALL_MS without a sign of its worker; that is looked for each second.
const Queue = require("bee-queue");

const stallInterval = Number(process.env.STALL_MS ?? 2000);
const queue = new Queue(process.env.QUEUE ?? "default", {
  redis: process.argv[2], stallInterval, getEvents: false, activateDelayedJobs: true,
});

function event(op, id) {
  process.stdout.write(JSON.stringify({ op, id, t_ns: Date.now() * 1e6 }) + "\n");
}

queue.on("succeeded", (job) => event("end", job.id));
queue.on("failed", (job) => event("failed", job.id));
queue.on("error", (error) => console.error(error.message));
queue.process(async (job) => {
  event("begin", job.id);
  await new Promise((done) => setTimeout(done, job.data.ms));
  event("ending", job.id);
});
queue.checkStalledJobs(1000);
queue.ready(() => console.error("ready"));
