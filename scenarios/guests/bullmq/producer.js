// Adds $JOBS jobs, one each $GAP_MS, to be worked on for $WORK_MS after $DELAY_MS.
const { Queue } = require("bullmq");

const number = (name, otherwise) => Number(process.env[name] ?? otherwise);
const queue = new Queue(process.env.QUEUE ?? "default", { connection: { url: process.argv[2] } });
queue.on("error", (error) => console.error(error.message));

function event(op, id, more = {}) {
  process.stdout.write(JSON.stringify({ op, id, t_ns: Date.now() * 1e6, ...more }) + "\n");
}

async function add(jobId) {
  const delay = number("DELAY_MS", 0);
  event("push", jobId, delay ? { delay_ms: delay } : {});
  try {
    await queue.add("job", { ms: number("WORK_MS", 5) }, { jobId, delay });
    event("accepted", jobId);
  } catch (error) {
    console.error(`${jobId} is in doubt: ${error.message}`);
  }
}

(async () => {
  for (let index = 0; index < number("JOBS", 100); index++) {
    await add(`job-${index}`);
    await new Promise((done) => setTimeout(done, number("GAP_MS", 10)));
  }
  process.exit(0);
})();
