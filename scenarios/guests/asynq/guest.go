// Tasks of asynq: guest push URL enqueues $JOBS of them, guest work URL works on each for $WORK_MS.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hibiken/asynq"
)

func number(name string, otherwise int) int {
	if given, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return given
	}
	return otherwise
}

func pause(name string, otherwise int) {
	time.Sleep(time.Duration(number(name, otherwise)) * time.Millisecond)
}

func event(op, id string) {
	fmt.Printf("{\"op\": %q, \"id\": %q, \"t_ns\": %d}\n", op, id, time.Now().UnixNano())
}

func push(client *asynq.Client, id string) {
	event("push", id)
	_, err := client.Enqueue(asynq.NewTask("job", nil), asynq.TaskID(id), asynq.MaxRetry(number("MAX_RETRY", 25)))
	if err == nil {
		event("accepted", id)
	} else {
		fmt.Fprintln(os.Stderr, id, "is in doubt:", err)
	}
}

// The library tells nobody that a task is done, so there is no "end".
func work(_ context.Context, task *asynq.Task) error {
	event("begin", task.ResultWriter().TaskID())
	pause("WORK_MS", 5)
	event("ending", task.ResultWriter().TaskID())
	return nil
}

func retryDelay(tries int, err error, task *asynq.Task) time.Duration {
	if given := number("RETRY_MS", 0); given > 0 {
		return time.Duration(given) * time.Millisecond
	}
	return asynq.DefaultRetryDelayFunc(tries, err, task)
}

func main() {
	redis, _ := asynq.ParseRedisURI(os.Args[2])
	if os.Args[1] == "work" {
		asynq.NewServer(redis, asynq.Config{Concurrency: 1, RetryDelayFunc: retryDelay}).Run(asynq.HandlerFunc(work))
		return
	}
	client := asynq.NewClient(redis)
	for index := range number("JOBS", 100) {
		push(client, fmt.Sprint("job-", index))
		pause("GAP_MS", 10)
	}
}
