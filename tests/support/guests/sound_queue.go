// The queue of sound_queue.py with the standard library: sound_queue push URL COUNT | work URL
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

const leaseMs = 1000
const pushScript = `if redis.call('HSETNX', KEYS[2], ARGV[1], 'new') == 1 then
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1]) end return 1`
const take = `local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)[1]
if id then redis.call('ZADD', KEYS[1], ARGV[2], id) end return id`
const ack = `if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then
redis.call('ZREM', KEYS[1], ARGV[1]) redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end
return redis.call('HGET', KEYS[2], ARGV[1]) == ARGV[2] and 1 or 0`
const worked = `return redis.call('HINCRBY', KEYS[2], 'worked', 1)`

var connection net.Conn
var reader *bufio.Reader

func event(op, id string, more map[string]any) {
	line := map[string]any{"op": op, "id": id, "t_ns": time.Now().UnixNano()}
	maps.Copy(line, more)
	json.NewEncoder(os.Stdout).Encode(line)
}

// reply returns the next answer, and the first element of an array; nil is "".
func reply() (string, error) {
	line, err := reader.ReadString('\n')
	line = strings.TrimSpace(line)
	switch {
	case err != nil:
		return "", err
	case line[0] == '-':
		return "", errors.New(line)
	case line == "$-1" || line == "*0":
		return "", nil
	case line[0] == '$' || line[0] == '*':
		return reply()
	}
	return strings.TrimLeft(line, ":+"), nil
}

func answer(packed string) (string, error) {
	if connection == nil {
		made, err := net.Dial("tcp", strings.TrimPrefix(os.Args[2], "redis://"))
		if err != nil {
			return "", err
		}
		connection, reader = made, bufio.NewReader(made)
	}
	fmt.Fprint(connection, packed)
	text, err := reply()
	if err != nil {
		connection.Close()
		connection = nil
	}
	return text, err
}

func untilAnswered(words ...any) string {
	packed := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		packed += fmt.Sprintf("$%d\r\n%v\r\n", len(fmt.Sprint(word)), word)
	}
	for {
		if text, err := answer(packed); err == nil {
			return text
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func script(text string, given ...any) string {
	return untilAnswered(append([]any{"EVAL", text, 2, "due", "jobs"}, given...)...)
}

func push(keep func(job string, delayMs int64), stepMs int) {
	count, _ := strconv.Atoi(os.Args[len(os.Args)-1])
	for number := range count {
		job, delayMs := fmt.Sprintf("job-%d", number), int64(number%3*stepMs)
		event("push", job, map[string]any{"delay_ms": delayMs})
		keep(job, delayMs)
		event("accepted", job, nil)
		time.Sleep(10 * time.Millisecond)
	}
}

func work() {
	println("ready")
	for {
		end := time.Now().UnixMilli() + leaseMs
		job := script(take, time.Now().UnixMilli(), end)
		now := time.Now()
		left := end - now.UnixMilli()
		if job == "" || left <= 0 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		event("begin", job, map[string]any{"lease_ms": left, "t_ns": now.UnixNano()})
		script(worked)
		if script(ack, job, end) == "1" {
			event("end", job, nil)
		} else {
			event("failed", job, nil)
		}
	}
}

var roles = map[string]func(){
	"push": func() {
		push(func(job string, delayMs int64) { script(pushScript, job, time.Now().UnixMilli()+delayMs) }, 200)
	},
	"work": work,
}

func main() { roles[os.Args[1]]() }
