// Makes a scheduler, which makes one job at once, and removes it when that job is being worked on.
const { Queue } = require("bullmq");
const { Redis } = require("ioredis");

const queue = new Queue("jobs", { connection: { url: process.argv[2] } });
queue.on("error", (error) => console.error(error.message));

function event(op, id, ms = Date.now()) {
  process.stdout.write(JSON.stringify({ op, id, t_ns: ms * 1e6 }) + "\n");
}

(async () => {
  const began = Date.now(); // the queue chooses the id
  const job = await queue.upsertJobScheduler("hourly", { every: 3600000 });
  event("push", job.id, began);
  event("accepted", job.id);
  while ((await job.getState()) !== "active") await new Promise((done) => setTimeout(done, 20));
  await queue.removeJobScheduler("hourly");
  await new Redis(process.argv[2]).set("gone", job.id);
  process.exit(0);
})();
