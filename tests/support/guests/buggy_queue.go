// The queue of buggy_queue.py, built with sound_queue.go: buggy_queue push URL BUG COUNT | work URL BUG
package main

import (
	"os"
	"time"
)

const move = "if redis.call('ZREM', KEYS[1], ARGV[1]) == 1 then redis.call('RPUSH', KEYS[2], ARGV[1]) end"
const poison = "job-7"

var bug = os.Args[3]
var patience, stepMs = time.Second, 200
var said map[string]any

type sight struct {
	job   string
	since time.Time
}

var seen sight

func init() {
	if bug == "double" {
		patience, said = 300*time.Millisecond, map[string]any{"lease_ms": 10_000}
	}
	if bug == "early" {
		stepMs = 2000
	}
	roles = map[string]func(){"push": func() { push(keep, stepMs) }, "work": workBadly}
}

func keep(job string, delayMs int64) {
	if bug == "early" {
		delayMs = 0
	}
	untilAnswered("ZADD", "due", time.Now().UnixMilli()+delayMs, job)
}

func wait(job string) { untilAnswered("RPUSH", "waiting", job) }

func drop(job string) bool { return untilAnswered("LREM", "active", 1, job) == "1" }

func promote() {
	job := untilAnswered("ZRANGEBYSCORE", "due", "-inf", time.Now().UnixMilli(), "LIMIT", 0, 1)
	if job != "" && bug != "forgotten" {
		untilAnswered("EVAL", move, 2, "due", "waiting", job)
	} else if job != "" && untilAnswered("ZREM", "due", job) == "1" {
		wait(job)
	}
}

func takeBadly() string {
	if bug == "lost" {
		return untilAnswered("LPOP", "waiting")
	}
	return untilAnswered("LMOVE", "waiting", "active", "LEFT", "RIGHT")
}

func oldest() sight {
	if job := untilAnswered("LINDEX", "active", 0); job != seen.job {
		seen = sight{job, time.Now()}
	}
	return seen
}

func putBack(late sight) {
	if late.job != "" && time.Since(late.since) > patience && (drop(late.job) || bug == "resurrected") {
		wait(late.job)
	}
}

func reclaim() {
	if bug == "lock" && untilAnswered("SET", "reclaiming", 1, "NX") == "" {
		return
	}
	putBack(oldest())
	if bug == "lock" {
		untilAnswered("DEL", "reclaiming")
	}
}

func finish(job string) {
	untilAnswered("INCR", "worked")
	if bug == "poison" && job == poison {
		event("failed", job, nil)
		if drop(job) {
			wait(job)
		}
		return
	}
	drop(job)
	event("end", job, nil)
}

func workBadly() {
	println("ready")
	for {
		promote()
		job := takeBadly()
		if job == "" {
			reclaim()
			time.Sleep(10 * time.Millisecond)
			continue
		}
		event("begin", job, said)
		if bug == "early-ack" {
			drop(job)
		}
		if bug == "resurrected" {
			late := oldest()
			finish(job)
			putBack(late)
		} else {
			reclaim()
			finish(job)
		}
	}
}
