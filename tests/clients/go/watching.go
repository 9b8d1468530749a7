package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	watchtools "k8s.io/client-go/tools/watch"
)

func init() {
	add("shared-informers", sharedInformers)
	add("relist-after-410", relist)
	add("retry-watcher", retryWatcher)
	add("metadata-informer", metadataInformer)
	add("leader-election", leaderElection)
	add("event-recorder", eventRecorder)
	add("new-event-recorder", newEventRecorder)
	add("custom-resources", customResources)
}

// counter counts what an informer tells.
type counter struct{ added, updated, deleted atomic.Int64 }

func (c *counter) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { c.added.Add(1) },
		UpdateFunc: func(any, any) { c.updated.Add(1) },
		DeleteFunc: func(any) { c.deleted.Add(1) },
	}
}

func (c *counter) String() string {
	return fmt.Sprintf("%d added, %d updated, %d deleted", c.added.Load(), c.updated.Load(), c.deleted.Load())
}

func sharedInformers(ctx context.Context, a *asker) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slices := a.typed.ResourceV1().ResourceSlices()
	if _, err := slices.Create(ctx, sliceOf("before"), metav1.CreateOptions{}); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(a.typed, time.Hour)
	informer := factory.Resource().V1().ResourceSlices()
	var seen counter
	if _, err := informer.Informer().AddEventHandler(seen.handler()); err != nil {
		return err
	}
	for _, each := range []cache.SharedIndexInformer{
		factory.Resource().V1().ResourceClaims().Informer(),
		factory.Resource().V1().DeviceClasses().Informer(),
		factory.Core().V1().Nodes().Informer(),
		factory.Core().V1().Pods().Informer(),
		factory.Coordination().V1().Leases().Informer(),
	} {
		each.GetStore()
	}
	factory.Start(ctx.Done())
	limited, stop := context.WithTimeout(ctx, soon)
	defer stop()
	for kind, synced := range factory.WaitForCacheSync(limited.Done()) {
		if !synced {
			return fmt.Errorf("%s is not in sync", kind)
		}
	}
	made, err := slices.Create(ctx, sliceOf("after"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Spec.Pool.Generation = 2
	if _, err := slices.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	for _, name := range []string{"before", "after"} {
		if err := slices.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	if err := until(ctx, "deletions", func() bool { return seen.deleted.Load() == 2 }); err != nil {
		return err
	}
	return want("events", seen.String(), "2 added, 1 updated, 2 deleted")
}

// forgets says that the server keeps no history: a watch from before the last change is too late.
var forgets bool

const gone = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},` +
	`"status":"Failure","message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// ager lets the first watch of ConfigMaps end soon. Before the next one there is a change; where
// the server does not forget it, the answer that the watch is too late is made up.
type ager struct {
	http.RoundTripper
	change  func() error
	mu      sync.Mutex
	watches int
}

func (a *ager) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	if !strings.Contains(request.URL.Path, "/configmaps") || query.Get("watch") == "" {
		return a.RoundTripper.RoundTrip(request)
	}
	a.mu.Lock()
	a.watches++
	number := a.watches
	a.mu.Unlock()
	request = request.Clone(request.Context())
	switch number {
	case 1:
		query.Set("timeoutSeconds", "2")
		request.URL.RawQuery = query.Encode()
	case 2:
		if err := a.change(); err != nil {
			return nil, err
		}
		if !forgets {
			return &http.Response{
				Status: "200 OK", StatusCode: http.StatusOK, Request: request,
				Header: http.Header{"Content-Type": {"application/json"}},
				Body:   io.NopCloser(strings.NewReader(gone)),
			}, nil
		}
	}
	return a.RoundTripper.RoundTrip(request)
}

func (a *ager) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.watches
}

func relist(ctx context.Context, a *asker) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	config := rest.CopyConfig(a.config)
	wrapped := &ager{change: func() error {
		_, err := a.typed.CoreV1().ConfigMaps(space).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
		return err
	}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		wrapped.RoundTripper = next
		return wrapped
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(space))
	informer := factory.Core().V1().ConfigMaps().Informer()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("not in sync")
	}
	if err := until(ctx, "third watch", func() bool { return wrapped.count() >= 3 }); err != nil {
		return err
	}
	return until(ctx, "an object after the relist", func() bool {
		_, found, _ := informer.GetStore().GetByKey(space + "/late")
		return found
	})
}

func retryWatcher(ctx context.Context, a *asker) error {
	maps := a.typed.CoreV1().ConfigMaps(space)
	made, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "watched"}},
		metav1.CreateOptions{})
	if err != nil {
		return err
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, made.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			seconds := int64(1)
			options.TimeoutSeconds = &seconds
			options.FieldSelector = "metadata.name=watched"
			return maps.Watch(ctx, options)
		},
	})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	go func() {
		// Beyond the end of the first watch.
		time.Sleep(1500 * time.Millisecond)
		made.Data = map[string]string{"a": "b"}
		_, _ = maps.Update(ctx, made, metav1.UpdateOptions{})
	}()
	for {
		select {
		case event, open := <-watcher.ResultChan():
			if !open {
				return fmt.Errorf("the watch has ended")
			}
			if event.Type == watch.Bookmark {
				continue
			}
			return want("event", event.Type, watch.Modified)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func metadataInformer(ctx context.Context, a *asker) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory := metadatainformer.NewSharedInformerFactory(a.metadata, 0)
	informer := factory.ForResource(resourceapi.SchemeGroupVersion.WithResource("resourceclaims")).Informer()
	var seen counter
	if _, err := informer.AddEventHandler(seen.handler()); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("not in sync")
	}
	before := seen.added.Load()
	if _, err := a.typed.ResourceV1().ResourceClaims(space).Create(
		ctx, claimOf("metadata"), metav1.CreateOptions{}); err != nil {
		return err
	}
	return until(ctx, "the claim", func() bool { return seen.added.Load() == before+1 })
}

func candidate(a *asker, name string, led *atomic.Bool) leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: space},
			Client:     a.typed.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond,
		ReleaseOnCancel: true, Name: name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { led.Store(true) },
			OnStoppedLeading: func() { led.Store(false) },
		},
	}
}

func leaderElection(ctx context.Context, a *asker) error {
	var first, second atomic.Bool
	firstCtx, stopFirst := context.WithCancel(ctx)
	defer stopFirst()
	secondCtx, stopSecond := context.WithCancel(ctx)
	defer stopSecond()
	go leaderelection.RunOrDie(firstCtx, candidate(a, "first", &first))
	if err := until(ctx, "the first leads", first.Load); err != nil {
		return err
	}
	go leaderelection.RunOrDie(secondCtx, candidate(a, "second", &second))
	leases := a.typed.CoordinationV1().Leases(space)
	var before *coordinationv1.Lease
	if err := until(ctx, "two renewals", func() bool {
		found, err := leases.Get(ctx, "leader", metav1.GetOptions{})
		if err != nil || found.Spec.RenewTime == nil {
			return false
		}
		if before == nil {
			before = found
		}
		return found.Spec.RenewTime.After(before.Spec.RenewTime.Add(300 * time.Millisecond))
	}); err != nil {
		return err
	}
	if second.Load() {
		return fmt.Errorf("two leaders")
	}
	stopFirst()
	if err := until(ctx, "the second leads", second.Load); err != nil {
		return err
	}
	// Somebody else takes the lease away: the second has lost.
	found, err := leases.Get(ctx, "leader", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := want("holder", *found.Spec.HolderIdentity, "second"); err != nil {
		return err
	}
	if err := want("transitions", *found.Spec.LeaseTransitions >= 1, true); err != nil {
		return err
	}
	return until(ctx, "the second loses", func() bool {
		if found, err := leases.Get(ctx, "leader", metav1.GetOptions{}); err == nil {
			thief, now := "thief", metav1.NowMicro()
			found.Spec.HolderIdentity, found.Spec.RenewTime = &thief, &now
			_, _ = leases.Update(ctx, found, metav1.UpdateOptions{})
		}
		return !second.Load()
	})
}

func eventRecorder(ctx context.Context, a *asker) error {
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: a.typed.CoreV1().Events(space)})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "go-client"})
	about := &corev1.ObjectReference{Kind: "ResourceClaim", APIVersion: "resource.k8s.io/v1",
		Namespace: space, Name: "recorded", UID: "u"}
	for range 3 {
		recorder.Event(about, corev1.EventTypeWarning, "Failed", "no device")
	}
	return until(ctx, "one event, three times", func() bool {
		found, err := a.typed.CoreV1().Events(space).List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.name=recorded"})
		return err == nil && len(found.Items) == 1 && found.Items[0].Count == 3
	})
}

func newEventRecorder(ctx context.Context, a *asker) error {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: a.typed.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return err
	}
	defer broadcaster.Shutdown()
	recorder := broadcaster.NewRecorder(scheme.Scheme, "example.com/go-client")
	about := &corev1.ObjectReference{Kind: "ResourceClaim", APIVersion: "resource.k8s.io/v1",
		Namespace: space, Name: "recorded-anew", UID: "u"}
	for range 2 {
		recorder.Eventf(about, nil, corev1.EventTypeNormal, "Prepared", "Preparing", "one device")
	}
	return until(ctx, "an event with a series", func() bool {
		found, err := a.typed.EventsV1().Events(space).List(ctx, metav1.ListOptions{
			FieldSelector: "regarding.name=recorded-anew"})
		return err == nil && len(found.Items) == 1 && found.Items[0].Series != nil
	})
}

var things = schema.GroupVersionResource{Group: "go.example.com", Version: "v1", Resource: "things"}

func definition() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "things.go.example.com"},
		"spec": map[string]any{
			"group": things.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}

func customResources(ctx context.Context, a *asker) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	definitions := a.dynamic.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(ctx, definition(), metav1.CreateOptions{}); err != nil {
		return err
	}
	client := a.dynamic.Resource(things).Namespace(space)
	if err := until(ctx, "the kind is served", func() bool {
		_, err := client.List(ctx, metav1.ListOptions{})
		return err == nil
	}); err != nil {
		return err
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(a.dynamic, 0)
	informer := factory.ForResource(things).Informer()
	var seen counter
	if _, err := informer.AddEventHandler(seen.handler()); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("not in sync")
	}
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": things.GroupVersion().String(), "kind": "Thing",
		"metadata": map[string]any{"name": "thing"}, "spec": map[string]any{"size": int64(3)}}}
	made, err := client.Create(ctx, thing, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Object["status"] = map[string]any{"ready": true}
	if made, err = client.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if ready, _, _ := unstructured.NestedBool(made.Object, "status", "ready"); !ready {
		return fmt.Errorf("no status: %v", made.Object)
	}
	applied := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": things.GroupVersion().String(), "kind": "Thing",
		"metadata": map[string]any{"name": "thing"}, "spec": map[string]any{"note": "small"}}}
	if _, err = client.Apply(ctx, "thing", applied, metav1.ApplyOptions{FieldManager: "go"}); err != nil {
		return err
	}
	if err := client.Delete(ctx, "thing", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := until(ctx, "the deletion", func() bool { return seen.deleted.Load() == 1 }); err != nil {
		return err
	}
	if err := want("events", seen.String(), "1 added, 2 updated, 1 deleted"); err != nil {
		return err
	}
	return definitions.Delete(ctx, "things.go.example.com", metav1.DeleteOptions{})
}
