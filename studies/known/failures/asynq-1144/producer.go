// Enqueues $JOBS tasks of asynq; then, if $LOSE is 1, deletes the key of leases once a task has been active for 10 s.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

const held = 10 * time.Second

func event(op, id string) {
	fmt.Printf("{\"op\": %q, \"id\": %q, \"t_ns\": %d}\n", op, id, time.Now().UnixNano())
}

func push(client *asynq.Client, id string) {
	event("push", id)
	if _, err := client.Enqueue(asynq.NewTask("job", nil), asynq.TaskID(id)); err == nil {
		event("accepted", id)
	}
}

func waitForHeld(server redis.UniversalClient) {
	id, since := "", time.Now()
	for id == "" || time.Since(since) < held {
		if now := server.LIndex(context.Background(), "asynq:{default}:active", 0).Val(); now != id {
			id, since = now, time.Now()
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func main() {
	option, _ := asynq.ParseRedisURI(os.Args[1])
	client := asynq.NewClient(option)
	jobs, _ := strconv.Atoi(os.Getenv("JOBS"))
	for index := range jobs {
		push(client, fmt.Sprint("job-", index))
	}
	if os.Getenv("LOSE") == "1" {
		server := option.MakeRedisClient().(redis.UniversalClient)
		waitForHeld(server)
		fmt.Fprintln(os.Stderr, "deleted", server.Del(context.Background(), "asynq:{default}:lease"))
	}
}
