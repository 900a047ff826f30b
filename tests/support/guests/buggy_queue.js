// The queue of buggy_queue.py without packages: node buggy_queue.js push URL BUG COUNT | work URL BUG
const { event, push, rest, role, sleep, untilAnswered } = require("./sound_queue.js");

const bug = rest[0];
const PATIENCE_MS = bug === "double" ? 300 : 1000;
const SAID = bug === "double" ? { lease_ms: 10000 } : {};
const MOVE = "if redis.call('ZREM', KEYS[1], ARGV[1]) == 1 then redis.call('RPUSH', KEYS[2], ARGV[1]) end";
const POISON = "job-7";

const wait = (job) => untilAnswered("RPUSH", "waiting", job);
const drop = async (job) => (await untilAnswered("LREM", "active", 1, job)) === "1";
const keep = (job, delay) => untilAnswered("ZADD", "due", Date.now() + (bug === "early" ? 0 : delay), job);

async function promote() {
  const job = await untilAnswered("ZRANGEBYSCORE", "due", "-inf", Date.now(), "LIMIT", 0, 1);
  if (job === null) return;
  if (bug !== "forgotten") await untilAnswered("EVAL", MOVE, 2, "due", "waiting", job);
  else if ((await untilAnswered("ZREM", "due", job)) === "1") await wait(job);
}

function take() {
  if (bug === "lost") return untilAnswered("LPOP", "waiting");
  return untilAnswered("LMOVE", "waiting", "active", "LEFT", "RIGHT");
}

let seen = { job: null, since: 0 };

async function oldest() {
  const job = await untilAnswered("LINDEX", "active", 0);
  if (job !== seen.job) seen = { job, since: Date.now() };
  return seen;
}

async function putBack({ job, since }) {
  if (job === null || Date.now() - since <= PATIENCE_MS) return;
  if ((await drop(job)) || bug === "resurrected") await wait(job);
}

async function reclaim() {
  if (bug === "lock" && (await untilAnswered("SET", "reclaiming", 1, "NX")) === null) return;
  await putBack(await oldest());
  if (bug === "lock") await untilAnswered("DEL", "reclaiming");
}

async function finish(job) {
  await untilAnswered("INCR", "worked");
  if (bug === "poison" && job === POISON) {
    event("failed", job);
    if (await drop(job)) await wait(job);
    return;
  }
  await drop(job);
  event("end", job);
}

async function work() {
  console.error("ready");
  for (;;) {
    await promote();
    const job = await take();
    if (job === null) { await reclaim(); await sleep(10); continue; }
    event("begin", job, SAID);
    if (bug === "early-ack") await drop(job);
    const late = bug === "resurrected" ? await oldest() : await reclaim();
    await finish(job);
    if (late) await putBack(late);
  }
}

role === "push" ? push(keep, bug === "early" ? 2000 : 200) : work();
