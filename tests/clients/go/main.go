// Command go-client asks an API server what programs on client-go ask: one line per check.
//
// Exits 1 if a check fails. It wants a server that nobody else writes to.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

const (
	space   = "go-client"
	driver  = "go.example.com"
	patient = 60 * time.Second
	soon    = 20 * time.Second
)

// asker has the clients that a check may use.
type asker struct {
	config   *rest.Config
	typed    kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
}

type check struct {
	name string
	run  func(context.Context, *asker) error
}

var checks []check

func add(name string, run func(context.Context, *asker) error) {
	checks = append(checks, check{name, run})
}

func main() {
	inCluster := flag.Bool("in-cluster", false, "only ask who one is, as in a pod")
	only := flag.String("only", "", "one check")
	flag.BoolVar(&forgets, "forgets", false, "the server keeps no history")
	flag.Parse()
	klog.SetOutput(os.Stderr)
	if err := run(*inCluster, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(inCluster bool, only string) error {
	a, err := newAsker(inCluster)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if inCluster {
		return say("in-cluster", whoAmI(ctx, a))
	}
	_, err = a.typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: space},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	var failed error
	for _, each := range checks {
		if only != "" && only != each.name {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, patient)
		if err := say(each.name, each.run(limited, a)); err != nil {
			failed = err
		}
		cancel()
	}
	return failed
}

func say(name string, err error) error {
	if err != nil {
		fmt.Printf("FAIL %s: %v\n", name, err)
		return fmt.Errorf("%s failed", name)
	}
	fmt.Printf("ok %s\n", name)
	return nil
}

func newAsker(inCluster bool) (*asker, error) {
	var config *rest.Config
	var err error
	if inCluster {
		config, err = rest.InClusterConfig()
	} else {
		config, err = clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	}
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 500, 500
	a := &asker{config: config}
	if a.typed, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if a.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	a.metadata, err = metadata.NewForConfig(config)
	return a, err
}

// until asks every 50 ms until it is so.
func until(ctx context.Context, what string, is func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %s", what, soon)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

func want(what string, got, wanted any) error {
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		return fmt.Errorf("%s: got %v, want %v", what, got, wanted)
	}
	return nil
}
