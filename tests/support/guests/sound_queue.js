// The queue of sound_queue.py without packages: node sound_queue.js push URL [BUG] COUNT | work URL [BUG]
const net = require("net");

const LEASE_MS = 1000;
const PUSH = `if redis.call('HSETNX', KEYS[2], ARGV[1], 'new') == 1 then
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1]) end return 1`;
const FIRST = "local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)[1] if id then";
const TAKE = `${FIRST} redis.call('ZADD', KEYS[1], ARGV[2], id) end return id`;
const TAKE_OUT = `${FIRST} redis.call('ZREM', KEYS[1], id) end return id`;
const ACK = `if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then
redis.call('ZREM', KEYS[1], ARGV[1]) redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end
return redis.call('HGET', KEYS[2], ARGV[1]) == ARGV[2] and 1 or 0`;
const WORK = "return redis.call('HINCRBY', KEYS[2], 'worked', 1)";

const [role, url, ...rest] = process.argv.slice(2);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function event(op, id, more = {}) {
  process.stdout.write(JSON.stringify({ op, id, t_ns: Date.now() * 1e6, ...more }) + "\n");
}

let socket = null;
let waiting = null;

function answered(data) {
  const [kind, text, next] = [data[0], ...data.slice(1).split("\r\n")];
  const reply = kind === "$" ? (text === "-1" ? null : next) : text;
  if (waiting) waiting(kind === "-" ? { error: text } : { reply });
}

function connect() {
  socket = net.connect(Number(new URL(url).port), new URL(url).hostname);
  socket.on("data", (data) => answered(data.toString()));
  socket.on("error", () => {});
  socket.on("close", () => { socket = null; if (waiting) waiting({ error: "closed" }); });
}

async function untilAnswered(script, ...given) {
  const words = ["EVAL", script, "2", "due", "jobs", ...given.map(String)];
  const packed = `*${words.length}\r\n` + words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("");
  for (;;) {
    if (socket === null) connect();
    const { reply, error } = await new Promise((done) => { waiting = done; socket.write(packed); });
    waiting = null;
    if (error === undefined) return reply;
    await sleep(20);
  }
}

async function push(count) {
  for (let number = 0; number < count; number++) {
    const [job, delay] = [`job-${number}`, (number % 3) * 200];
    event("push", job, { delay_ms: delay });
    await untilAnswered(PUSH, job, Date.now() + delay);
    event("accepted", job);
    await sleep(10);
  }
  process.exit(0);
}

async function work(bug) {
  for (;;) {
    const end = Date.now() + LEASE_MS;
    const job = await untilAnswered(bug === "lost" ? TAKE_OUT : TAKE, Date.now(), end);
    const left = end - Date.now();
    if (job === null || left <= 0) { await sleep(10); continue; }
    event("begin", job, { lease_ms: left });
    await untilAnswered(WORK);
    event(bug === "lost" || (await untilAnswered(ACK, job, end)) === "1" ? "end" : "failed", job);
  }
}

if (role === "push") push(Number(rest.at(-1)));
else work(rest[0]);
