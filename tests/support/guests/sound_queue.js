// The queue of sound_queue.py without packages: node sound_queue.js push URL COUNT | work URL
const net = require("net");

const LEASE_MS = 1000;
const PUSH = `if redis.call('HSETNX', KEYS[2], ARGV[1], 'new') == 1 then
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1]) end return 1`;
const TAKE = `local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)[1]
if id then redis.call('ZADD', KEYS[1], ARGV[2], id) end return id`;
const ACK = `if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then
redis.call('ZREM', KEYS[1], ARGV[1]) redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end
return redis.call('HGET', KEYS[2], ARGV[1]) == ARGV[2] and 1 or 0`;
const WORK = "return redis.call('HINCRBY', KEYS[2], 'worked', 1)";

const [role, url, ...rest] = process.argv.slice(2);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const script = (text, ...given) => untilAnswered("EVAL", text, 2, "due", "jobs", ...given);

function event(op, id, more = {}) {
  process.stdout.write(JSON.stringify({ op, id, t_ns: Date.now() * 1e6, ...more }) + "\n");
}

let socket = null;
let waiting = null;

// An array counts as its first element.
function answered(data) {
  const [head, ...texts] = data.split("\r\n");
  const reply = "$*".includes(head[0]) ? (texts.at(-2) ?? null) : head.slice(1);
  if (waiting) waiting(head[0] === "-" ? { error: head } : { reply });
}

function connect() {
  socket = net.connect(Number(new URL(url).port), new URL(url).hostname);
  socket.on("data", (data) => answered(data.toString()));
  socket.on("error", () => {});
  socket.on("close", () => { socket = null; if (waiting) waiting({ error: "closed" }); });
}

async function untilAnswered(...words) {
  const packed = `*${words.length}\r\n` + words.map((word) => `$${Buffer.byteLength(`${word}`)}\r\n${word}\r\n`).join("");
  for (;;) {
    if (socket === null) connect();
    const { reply, error } = await new Promise((done) => { waiting = done; socket.write(packed); });
    waiting = null;
    if (error === undefined) return reply;
    await sleep(20);
  }
}

async function push(keep, step = 200) {
  for (let number = 0; number < Number(rest.at(-1)); number++) {
    const [job, delay] = [`job-${number}`, (number % 3) * step];
    event("push", job, { delay_ms: delay });
    await keep(job, delay);
    event("accepted", job);
    await sleep(10);
  }
  process.exit(0);
}

async function work() {
  console.error("ready");
  for (;;) {
    const end = Date.now() + LEASE_MS;
    const job = await script(TAKE, Date.now(), end);
    const now = Date.now();
    const left = end - now;
    if (job === null || left <= 0) { await sleep(10); continue; }
    event("begin", job, { lease_ms: left, t_ns: now * 1e6 });
    await script(WORK);
    event((await script(ACK, job, end)) === "1" ? "end" : "failed", job);
  }
}

module.exports = { event, push, rest, role, sleep, untilAnswered };
if (require.main === module) role === "push" ? push((job, delay) => script(PUSH, job, Date.now() + delay)) : work();
