// The queue of sound_queue.py with the standard library: sound_queue push URL [BUG] COUNT | work URL [BUG]
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

const leaseMs = 1000
const pushScript = `if redis.call('HSETNX', KEYS[2], ARGV[1], 'new') == 1 then
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1]) end return 1`
const first = `local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)[1] if id then `
const take = first + `redis.call('ZADD', KEYS[1], ARGV[2], id) end return id`
const takeOut = first + `redis.call('ZREM', KEYS[1], id) end return id`
const ack = `if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then
redis.call('ZREM', KEYS[1], ARGV[1]) redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end
return redis.call('HGET', KEYS[2], ARGV[1]) == ARGV[2] and 1 or 0`
const worked = `return redis.call('HINCRBY', KEYS[2], 'worked', 1)`

var connection net.Conn
var reader *bufio.Reader

func event(op, id string, more map[string]any) {
	line := map[string]any{"op": op, "id": id, "t_ns": time.Now().UnixNano()}
	for name, value := range more {
		line[name] = value
	}
	text, _ := json.Marshal(line)
	os.Stdout.Write(append(text, '\n'))
}

// answer returns the reply and whether there is one; nil is "".
func answer(packed string) (reply string, ok bool) {
	if connection == nil {
		made, err := net.Dial("tcp", strings.TrimPrefix(os.Args[2], "redis://"))
		if err != nil {
			return "", false
		}
		connection, reader = made, bufio.NewReader(made)
	}
	fmt.Fprint(connection, packed)
	line, err := reader.ReadString('\n')
	if err == nil && line[0] == '$' && line[1] != '-' {
		length, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
		text := make([]byte, length+2)
		if _, err = io.ReadFull(reader, text); err == nil {
			return string(text[:length]), true
		}
	}
	if err != nil {
		connection.Close()
		connection = nil
		return "", false
	}
	if line[0] == '$' {
		return "", true
	}
	return strings.TrimSpace(line[1:]), line[0] != '-'
}

func untilAnswered(script string, given ...any) string {
	words := []string{"EVAL", script, "2", "due", "jobs"}
	for _, one := range given {
		words = append(words, fmt.Sprint(one))
	}
	packed := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		packed += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	for {
		if reply, ok := answer(packed); ok {
			return reply
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func push(count int) {
	for number := range count {
		job, delay := fmt.Sprintf("job-%d", number), int64(number%3*200)
		event("push", job, map[string]any{"delay_ms": delay})
		untilAnswered(pushScript, job, time.Now().UnixMilli()+delay)
		event("accepted", job, nil)
		time.Sleep(10 * time.Millisecond)
	}
}

func work(bug string) {
	script := take
	if bug == "lost" {
		script = takeOut
	}
	for {
		end := time.Now().UnixMilli() + leaseMs
		job := untilAnswered(script, time.Now().UnixMilli(), end)
		left := end - time.Now().UnixMilli()
		if job == "" || left <= 0 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		event("begin", job, map[string]any{"lease_ms": left})
		untilAnswered(worked)
		if bug == "lost" || untilAnswered(ack, job, end) == "1" {
			event("end", job, nil)
		} else {
			event("failed", job, nil)
		}
	}
}

func main() {
	last := os.Args[len(os.Args)-1]
	if os.Args[1] == "push" {
		count, _ := strconv.Atoi(last)
		push(count)
	} else {
		work(last)
	}
}
