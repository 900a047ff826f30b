// Saves $JOBS jobs, one each $GAP_MS, to be worked on for $WORK_MS after $DELAY_MS.
const Queue = require("bee-queue");

const number = (name, otherwise) => Number(process.env[name] ?? otherwise);
const delay = number("DELAY_MS", 0);
const own = { isWorker: false, getEvents: false, activateDelayedJobs: delay > 0 };
const queue = new Queue(process.env.QUEUE ?? "default", { redis: process.argv[2], ...own });
queue.on("error", (error) => console.error(error.message));

function event(op, id, more = {}) {
  process.stdout.write(JSON.stringify({ op, id, t_ns: Date.now() * 1e6, ...more }) + "\n");
}

async function save(id) {
  const job = queue.createJob({ ms: number("WORK_MS", 5) }).setId(id);
  if (delay) job.delayUntil(Date.now() + delay);
  event("push", id, delay ? { delay_ms: delay } : {});
  try {
    await job.save();
    event("accepted", id);
  } catch (error) {
    console.error(`${id} is in doubt: ${error.message}`);
  }
}

(async () => {
  for (let index = 0; index < number("JOBS", 100); index++) {
    await save(`job-${index}`);
    await new Promise((done) => setTimeout(done, number("GAP_MS", 10)));
  }
  process.exit(0);
})();
