package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	pipeline "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

const (
	repository = "https://github.example/example/gpu-driver.git"
	commit     = "0123456789abcdef0123456789abcdef01234567"
)

// A delivery to a listener, and what has to come of it.
type delivery struct {
	name   string
	body   map[string]any
	header http.Header
	starts bool
}

// Deliveries to a listener: pull requests where it looks at such, or an empty body, as of a CronJob.
func deliveries(found *objects) []delivery {
	if len(found.listener.Spec.Triggers[0].Interceptors) == 0 {
		return []delivery{{name: "a knock", body: map[string]any{}, header: http.Header{}, starts: true}}
	}
	event := func(name string, starts bool, change func(body map[string]any)) delivery {
		body := pullRequest()
		change(body)
		return delivery{name: name, body: body, header: signed("pull_request", body, secret), starts: starts}
	}
	as := func(name string, header http.Header) delivery {
		return delivery{name: name, body: pullRequest(), header: header}
	}
	action := func(name string) func(body map[string]any) {
		return func(body map[string]any) { body["action"] = name }
	}
	unsigned := signed("pull_request", pullRequest(), secret)
	unsigned.Del("X-Hub-Signature-256")
	return []delivery{
		event("opened", true, action("opened")),
		event("reopened", true, action("reopened")),
		event("new commits", true, action("synchronize")),
		event("closed", false, action("closed")),
		event("a new label", false, action("labeled")),
		event("of a fork", false, func(body map[string]any) {
			head(body)["repo"] = map[string]any{"full_name": "somebody/gpu-driver"}
		}),
		event("of a fork that is gone", false, func(body map[string]any) { head(body)["repo"] = nil }),
		event("without a repository", false, func(body map[string]any) { delete(body, "repository") }),
		as("no signature", unsigned),
		as("another secret", signed("pull_request", pullRequest(), "wrong horse")),
		as("another body than the signed one", signed("pull_request", map[string]any{}, secret)),
		as("another event", signed("push", pullRequest(), secret)),
		as("no event", signed("", pullRequest(), secret)),
	}
}

// A pull request as GitHub tells of it, as far as anybody looks.
func pullRequest() map[string]any {
	return map[string]any{
		"action": "opened",
		"number": 7,
		"pull_request": map[string]any{
			"head": map[string]any{"sha": commit, "repo": map[string]any{"full_name": "example/gpu-driver"}},
		},
		"repository": map[string]any{"full_name": "example/gpu-driver", "clone_url": repository},
	}
}

func head(body map[string]any) map[string]any {
	return body["pull_request"].(map[string]any)["head"].(map[string]any)
}

func signed(event string, body map[string]any, key string) http.Header {
	code := hmac.New(sha256.New, []byte(key))
	code.Write(text(body))
	made := http.Header{}
	made.Set("Content-Type", "application/json")
	made.Set("X-Github-Event", event)
	made.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(code.Sum(nil)))
	return made
}

func text(body map[string]any) []byte {
	made, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return made
}

// What is wrong with what comes of the delivery; empty if nothing is.
func (d delivery) wrong(found *objects) string {
	run, err := found.deliver(text(d.body), d.header)
	refused := refusal{}
	switch {
	case err != nil && !errors.As(err, &refused):
		return err.Error()
	case d.starts && err != nil:
		return "is refused: " + err.Error()
	case !d.starts && err == nil:
		return "starts " + run.GenerateName
	case !d.starts:
		return ""
	}
	if len(d.body) == 0 {
		return lacking(run, "$(")
	}
	for _, each := range []string{repository, commit} {
		if !strings.Contains(shown(run), each) {
			return fmt.Sprintf("the run does not know %s", each)
		}
	}
	if !strings.Contains(run.GenerateName, "-7-") {
		return fmt.Sprintf("the run is called %s, without the pull request's number", run.GenerateName)
	}
	return lacking(run, "$(")
}

// A run in which something is left that nobody fills in.
func lacking(run *pipeline.PipelineRun, sign string) string {
	if strings.Contains(shown(run), sign) {
		return "something is not filled in: " + shown(run)
	}
	return ""
}

func shown(run *pipeline.PipelineRun) string {
	made, err := json.Marshal(run)
	if err != nil {
		panic(err)
	}
	return string(made)
}
