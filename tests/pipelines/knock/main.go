// Command knock asks Tekton's own code what the listeners of Tekton Triggers would do.
//
// Each file has one EventListener with what it refers to. The objects are read strictly, as the types of Triggers
// have them, and validated as its webhook does; then deliveries are sent through the interceptors, and what comes out
// is validated as Tekton's pipelines do. Exits 1 if something is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	pipeline "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/triggers/pkg/apis/triggers/contexts"
	triggers "github.com/tektoncd/triggers/pkg/apis/triggers/v1beta1"
	"github.com/tektoncd/triggers/pkg/interceptors"
	"github.com/tektoncd/triggers/pkg/interceptors/cel"
	"github.com/tektoncd/triggers/pkg/interceptors/github"
	"github.com/tektoncd/triggers/pkg/template"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/yaml"
)

const (
	group  = "triggers.tekton.dev/v1beta1"
	secret = "correct horse"
	// Of the webhook's deliveries: namespace and trigger, as the listener names them.
	trigger = "namespaces/default/triggers/any"
)

// Objects of one file, by kind.
type objects struct {
	listener  *triggers.EventListener
	bindings  map[string]*triggers.TriggerBinding
	templates map[string]*triggers.TriggerTemplate
}

type validated interface {
	apis.Validatable
	apis.Defaultable
	metav1.Object
}

func read(file string) (*objects, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	found := &objects{
		bindings:  map[string]*triggers.TriggerBinding{},
		templates: map[string]*triggers.TriggerTemplate{},
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var about metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &about); err != nil {
			return nil, err
		}
		if about.APIVersion != group {
			continue
		}
		if err := found.add(about.Kind, []byte(document)); err != nil {
			return nil, fmt.Errorf("%s: %w", about.Kind, err)
		}
	}
	if found.listener == nil || len(found.listener.Spec.Triggers) != 1 {
		return nil, errors.New("want one EventListener with one trigger")
	}
	return found, nil
}

func (o *objects) add(kind string, document []byte) error {
	switch kind {
	case "EventListener":
		o.listener = &triggers.EventListener{}
		return strictly(document, o.listener)
	case "TriggerBinding":
		made := &triggers.TriggerBinding{}
		err := strictly(document, made)
		o.bindings[made.Name] = made
		return err
	case "TriggerTemplate":
		made := &triggers.TriggerTemplate{}
		err := strictly(document, made)
		o.templates[made.Name] = made
		return err
	}
	return errors.New("a kind that this does not know")
}

// Strictly reads an object, whose fields all have to be known, and validates it.
func strictly(document []byte, into validated) error {
	if err := yaml.UnmarshalStrict(document, into); err != nil {
		return err
	}
	ctx := contexts.WithUpgradeViaDefaulting(apis.WithinCreate(context.Background()))
	into.SetDefaults(ctx)
	if into.GetName() == "" && into.GetGenerateName() != "" {
		// As an API server does before it asks a webhook.
		into.SetName(into.GetGenerateName() + "abcde")
	}
	if err := into.Validate(ctx); err != nil {
		return err
	}
	return nil
}

type keys struct{ asked *triggers.SecretRef }

// Get gives the secret that a vendor has made.
func (k *keys) Get(_ context.Context, _ string, ref *triggers.SecretRef) ([]byte, error) {
	k.asked = ref
	return []byte(secret), nil
}

// Interceptors that Triggers brings along, and the fields of their parameters: others are ignored there.
var known = map[string][]string{
	"github": {"secretRef", "eventTypes", "addChangedFiles", "githubOwners"},
	"cel":    {"filter", "overlays"},
}

func process(ctx context.Context, one *triggers.TriggerInterceptor, request *triggers.InterceptorRequest) error {
	for _, each := range one.Params {
		if !slices.Contains(known[one.Ref.Name], each.Name) {
			return fmt.Errorf("interceptor %q has no parameter %q", one.Ref.Name, each.Name)
		}
	}
	request.InterceptorParams = interceptors.GetInterceptorParams(one)
	var answer *triggers.InterceptorResponse
	switch one.Ref.Name {
	case "github":
		answer = github.NewInterceptor(&keys{}).Process(ctx, request)
	case "cel":
		answer = cel.NewInterceptor(&keys{}).Process(ctx, request)
	default:
		return fmt.Errorf("interceptor %q: none that Triggers brings along", one.Ref.Name)
	}
	if !answer.Continue {
		return refusal{answer.Status.Message}
	}
	return nil
}

// A refusal is an interceptor's answer to what is not meant for the trigger.
type refusal struct{ reason string }

func (r refusal) Error() string { return r.reason }

// Deliver sends an event through the listener; what it starts.
func (o *objects) deliver(body []byte, header http.Header) (*pipeline.PipelineRun, error) {
	ctx := context.Background()
	one := o.listener.Spec.Triggers[0]
	for _, each := range one.Interceptors {
		request := &triggers.InterceptorRequest{
			Body: string(body), Header: header, Context: &triggers.TriggerContext{TriggerID: trigger},
		}
		if err := process(ctx, each, request); err != nil {
			return nil, err
		}
	}
	spec := triggers.Trigger{Spec: triggers.TriggerSpec{Bindings: one.Bindings, Template: *one.Template}}
	resolved, err := template.ResolveTrigger(spec, o.binding, nil, o.template)
	if err != nil {
		return nil, err
	}
	values, err := template.ResolveParams(resolved, body, header, nil, template.NewTriggerContext("event"))
	if err != nil {
		return nil, err
	}
	made := template.ResolveResources(resolved.TriggerTemplate, values)
	if len(made) != 1 {
		return nil, fmt.Errorf("%d objects are made, want one", len(made))
	}
	run := &pipeline.PipelineRun{}
	if err := strictly(made[0], run); err != nil {
		return nil, fmt.Errorf("the run: %w", err)
	}
	return run, nil
}

func (o *objects) binding(name string) (*triggers.TriggerBinding, error) {
	if found, ok := o.bindings[name]; ok {
		return found, nil
	}
	return nil, fmt.Errorf("no TriggerBinding %q", name)
}

func (o *objects) template(name string) (*triggers.TriggerTemplate, error) {
	if found, ok := o.templates[name]; ok {
		return found, nil
	}
	return nil, fmt.Errorf("no TriggerTemplate %q", name)
}

func main() {
	bad := false
	for _, file := range os.Args[1:] {
		found, err := read(file)
		if err != nil {
			fmt.Printf("%s: %v\n", file, err)
			bad = true
			continue
		}
		for _, each := range deliveries(found) {
			if problem := each.wrong(found); problem != "" {
				fmt.Printf("%s: %s: %s\n", file, each.name, problem)
				bad = true
			}
		}
	}
	if bad {
		os.Exit(1)
	}
}
