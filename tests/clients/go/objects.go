package main

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"

	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	applyresource "k8s.io/client-go/applyconfigurations/resource/v1"
)

func init() {
	add("discovery", discover)
	add("rest-mapper", mapKinds)
	add("slice-round-trip", sliceRoundTrip)
	add("claim-status", claimStatus)
	add("core-kinds", coreKinds)
	add("protobuf-bodies", protobufBodies)
	add("json-only", jsonOnly)
	add("errors", failures)
	add("pages", pages)
	add("delete-options", deleteOptions)
	add("retry-on-conflict", retryOnConflict)
	add("server-side-apply", serverSideApply)
	add("status-apply", statusApply)
	add("patches", patches)
	add("reviews", reviews)
	add("tokens", tokens)
}

func discover(_ context.Context, a *asker) error {
	_, lists, err := a.typed.Discovery().ServerGroupsAndResources()
	if err != nil {
		return err
	}
	kinds := map[string]string{}
	for _, list := range lists {
		for _, each := range list.APIResources {
			kinds[list.GroupVersion+"/"+each.Name] = each.Kind
		}
	}
	for name, kind := range map[string]string{
		"resource.k8s.io/v1/resourceslices":        "ResourceSlice",
		"resource.k8s.io/v1/resourceclaims/status": "ResourceClaim",
		"coordination.k8s.io/v1/leases":            "Lease",
		"v1/nodes":                                 "Node",
	} {
		if err := want(name, kinds[name], kind); err != nil {
			return err
		}
	}
	version, err := a.typed.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	if _, err = a.typed.Discovery().ServerPreferredResources(); err != nil {
		return err
	}
	if version.Minor == "" {
		return errors.New("the version has no minor")
	}
	_, err = a.typed.Discovery().OpenAPIV3().Paths()
	return err
}

func mapKinds(_ context.Context, a *asker) error {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(
		memory.NewMemCacheClient(a.typed.Discovery()))
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: resourceapi.GroupName, Kind: "ResourceClaim"})
	if err != nil {
		return err
	}
	if err := want("resource", mapping.Resource.String(),
		"resource.k8s.io/v1, Resource=resourceclaims"); err != nil {
		return err
	}
	found, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: "leases"})
	if err != nil {
		return err
	}
	return want("leases", found.Group, "coordination.k8s.io")
}

func sliceOf(name string) *resourceapi.ResourceSlice {
	node := "node-a"
	text, number, yes := "x", int64(0), false
	return &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": "go"}},
		Spec: resourceapi.ResourceSliceSpec{
			Driver: driver, NodeName: &node,
			Pool: resourceapi.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1},
			Devices: []resourceapi.Device{{
				Name: "d0",
				Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
					"text": {StringValue: &text}, "number": {IntValue: &number}, "yes": {BoolValue: &yes},
				},
				Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
					"memory": {Value: resource.MustParse("40Gi")},
				},
			}},
		},
	}
}

func sliceRoundTrip(ctx context.Context, a *asker) error {
	slices := a.typed.ResourceV1().ResourceSlices()
	sent := sliceOf("round-trip")
	made, err := slices.Create(ctx, sent, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(made.Spec, sent.Spec) {
		return fmt.Errorf("created %v, sent %v", made.Spec, sent.Spec)
	}
	made.Spec.Pool.Generation = 2
	changed, err := slices.Update(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	if err := want("generation", changed.Generation, 2); err != nil {
		return err
	}
	read, err := slices.Get(ctx, sent.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(read, changed) {
		return fmt.Errorf("read %v, written %v", read, changed)
	}
	list, err := slices.List(ctx, metav1.ListOptions{FieldSelector: "spec.driver=" + driver})
	if err != nil {
		return err
	}
	if err := want("slices", len(list.Items), 1); err != nil {
		return err
	}
	return slices.Delete(ctx, sent.Name, metav1.DeleteOptions{})
}

func claimOf(name string) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: space},
		Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{
			Requests: []resourceapi.DeviceRequest{{
				Name:    "one",
				Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: driver},
			}},
			Config: []resourceapi.DeviceClaimConfiguration{{
				DeviceConfiguration: resourceapi.DeviceConfiguration{
					Opaque: &resourceapi.OpaqueDeviceConfiguration{
						Driver: driver, Parameters: runtime.RawExtension{Raw: []byte(`{"level":3}`)},
					},
				},
			}},
		}},
	}
}

func allocation() *resourceapi.AllocationResult {
	return &resourceapi.AllocationResult{
		Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{{
			Request: "one", Driver: driver, Pool: "node-a", Device: "d0",
		}}},
	}
}

func claimStatus(ctx context.Context, a *asker) error {
	claims := a.typed.ResourceV1().ResourceClaims(space)
	made, err := claims.Create(ctx, claimOf("status"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := want("count", made.Spec.Devices.Requests[0].Exactly.Count, 1); err != nil {
		return err
	}
	if made.Spec.Devices.Config[0].Opaque == nil {
		return errors.New("the opaque parameters are gone")
	}
	made.Status.Allocation = allocation()
	made.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{
		{Resource: "pods", Name: "p", UID: "u"}}
	changed, err := claims.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	return want("device", changed.Status.Allocation.Devices.Results[0].Device, "d0")
}

func coreKinds(ctx context.Context, a *asker) error {
	core := a.typed.CoreV1()
	meta := metav1.ObjectMeta{Name: "core", Namespace: space}
	if _, err := core.ServiceAccounts(space).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Name: "default", Namespace: space}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if _, err := core.Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "go-node"}},
		metav1.CreateOptions{}); err != nil {
		return err
	}
	config, err := core.ConfigMaps(space).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: meta, Data: map[string]string{"a": "b"}, BinaryData: map[string][]byte{"c": {0, 255}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := want("binary data", config.BinaryData["c"], []byte{0, 255}); err != nil {
		return err
	}
	if _, err := core.Secrets(space).Create(ctx, &corev1.Secret{
		ObjectMeta: meta, StringData: map[string]string{"a": "b"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	secret, err := core.Secrets(space).Get(ctx, "core", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := want("secret", string(secret.Data["a"])+" "+string(secret.Type), "b Opaque"); err != nil {
		return err
	}
	name := "status"
	pod, err := core.Pods(space).Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		NodeName:       "go-node",
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &name}},
		Containers: []corev1.Container{{Name: "main", Image: "example.com/i:1",
			Env:       []corev1.EnvVar{{Name: "A", Value: "B"}},
			Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := want("claims", len(pod.Spec.Containers[0].Resources.Claims), 1); err != nil {
		return err
	}
	pod.Status.Phase = corev1.PodRunning
	pod, err = core.Pods(space).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	return want("phase", pod.Status.Phase, "Running")
}

func protobufBodies(ctx context.Context, a *asker) error {
	config := rest.CopyConfig(a.config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return withConfig(ctx, config, "protobuf")
}

func jsonOnly(ctx context.Context, a *asker) error {
	config := rest.CopyConfig(a.config)
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	return withConfig(ctx, config, "json")
}

func withConfig(ctx context.Context, config *rest.Config, name string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	made, err := client.ResourceV1().ResourceClaims(space).Create(ctx, claimOf(name), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if made.Spec.Devices.Config[0].Opaque == nil {
		return errors.New("the opaque parameters are gone")
	}
	if err := want("parameters", string(made.Spec.Devices.Config[0].Opaque.Parameters.Raw),
		`{"level":3}`); err != nil {
		return err
	}
	if _, err := client.ResourceV1().ResourceClaims(space).List(ctx, metav1.ListOptions{}); err != nil {
		return err
	}
	return client.ResourceV1().ResourceClaims(space).Delete(ctx, name, metav1.DeleteOptions{})
}

func failures(ctx context.Context, a *asker) error {
	slices := a.typed.ResourceV1().ResourceSlices()
	if _, err := slices.Get(ctx, "nothing", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("GET of nothing: %v", err)
	}
	if _, err := slices.Create(ctx, sliceOf("twice"), metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := slices.Create(ctx, sliceOf("twice"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("a second POST: %v", err)
	}
	bad := sliceOf("bad")
	bad.Spec.Driver = "not/a/name"
	_, err := slices.Create(ctx, bad, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		return fmt.Errorf("a bad slice: %v", err)
	}
	if !apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueInvalid) {
		return fmt.Errorf("a bad slice has no such cause: %v", err)
	}
	stale := sliceOf("twice")
	stale.ResourceVersion = "1"
	if _, err := slices.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return fmt.Errorf("a stale PUT: %v", err)
	}
	lost := metav1.ListOptions{FieldSelector: "spec.nothing=1"}
	if _, err := slices.List(ctx, lost); !apierrors.IsBadRequest(err) {
		return fmt.Errorf("a bad selector: %v", err)
	}
	foreign := claimOf("foreign")
	foreign.Namespace = "missing"
	if _, err := a.typed.ResourceV1().ResourceClaims("missing").Create(
		ctx, foreign, metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("a missing namespace: %v", err)
	}
	_, err = a.dynamic.Resource(schema.GroupVersionResource{Group: resourceapi.GroupName, Version: "v9",
		Resource: "resourceslices"}).List(ctx, metav1.ListOptions{})
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("a version that is not served: %v", err)
	}
	return slices.Delete(ctx, "twice", metav1.DeleteOptions{})
}

func pages(ctx context.Context, a *asker) error {
	maps := a.typed.CoreV1().ConfigMaps(space)
	for number := range 23 {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("page-%d", number), Labels: map[string]string{"of": "pages"}}},
			metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	lister := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return maps.List(ctx, options)
	})
	lister.PageSize = 5
	seen := 0
	err := lister.EachListItem(ctx, metav1.ListOptions{LabelSelector: "of=pages"}, func(runtime.Object) error {
		seen++
		return nil
	})
	if err != nil {
		return err
	}
	if err := want("items", seen, 23); err != nil {
		return err
	}
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "of=pages"}); err != nil {
		return err
	}
	left, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "of=pages"})
	if err != nil {
		return err
	}
	return want("left", len(left.Items), 0)
}

func deleteOptions(ctx context.Context, a *asker) error {
	slices := a.typed.ResourceV1().ResourceSlices()
	made, err := slices.Create(ctx, sliceOf("options"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	other := types.UID("other")
	err = slices.Delete(ctx, made.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
	if !apierrors.IsConflict(err) {
		return fmt.Errorf("another uid: %v", err)
	}
	err = slices.Delete(ctx, made.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return err
	}
	policy := metav1.DeletePropagationBackground
	return slices.Delete(ctx, made.Name, metav1.DeleteOptions{
		PropagationPolicy: &policy,
		Preconditions:     &metav1.Preconditions{UID: &made.UID, ResourceVersion: &made.ResourceVersion},
	})
}

func retryOnConflict(ctx context.Context, a *asker) error {
	maps := a.typed.CoreV1().ConfigMaps(space)
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "retry"}},
		metav1.CreateOptions{}); err != nil {
		return err
	}
	tries := 0
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found, err := maps.Get(ctx, "retry", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if tries++; tries == 1 {
			other := found.DeepCopy()
			other.Data = map[string]string{"who": "other"}
			if _, err := maps.Update(ctx, other, metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
		found.Data = map[string]string{"who": "me"}
		_, err = maps.Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return want("tries", tries, 2)
}

func serverSideApply(ctx context.Context, a *asker) error {
	maps := a.typed.CoreV1().ConfigMaps(space)
	sent := func(value string) *applycore.ConfigMapApplyConfiguration {
		return applycore.ConfigMap("applied", space).WithData(map[string]string{"key": value})
	}
	if _, err := maps.Apply(ctx, sent("one"), metav1.ApplyOptions{FieldManager: "one"}); err != nil {
		return err
	}
	_, err := maps.Apply(ctx, sent("two"), metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		return fmt.Errorf("no conflict: %v", err)
	}
	made, err := maps.Apply(ctx, sent("two"), metav1.ApplyOptions{FieldManager: "two", Force: true})
	if err != nil {
		return err
	}
	if err := want("value", made.Data["key"], "two"); err != nil {
		return err
	}
	own, err := applycore.ExtractConfigMap(made, "two")
	if err != nil {
		return err
	}
	if err := want("own", own.Data, map[string]string{"key": "two"}); err != nil {
		return err
	}
	none, err := applycore.ExtractConfigMap(made, "one")
	if err != nil {
		return err
	}
	if err := want("of the first", len(none.Data), 0); err != nil {
		return err
	}
	made, err = maps.Apply(ctx, applycore.ConfigMap("applied", space), metav1.ApplyOptions{FieldManager: "two"})
	if err != nil {
		return err
	}
	return want("given up", len(made.Data), 0)
}

func statusApply(ctx context.Context, a *asker) error {
	claims := a.typed.ResourceV1().ResourceClaims(space)
	made, err := claims.Create(ctx, claimOf("status-apply"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status.Allocation = allocation()
	if _, err := claims.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	made, err = claims.ApplyStatus(ctx, applyresource.ResourceClaim("status-apply", space).WithStatus(
		applyresource.ResourceClaimStatus().WithDevices(applyresource.AllocatedDeviceStatus().
			WithDriver(driver).WithPool("node-a").WithDevice("d0").
			WithConditions(applymeta.Condition().WithType("Ready").WithStatus(metav1.ConditionTrue).
				WithReason("Up").WithMessage("").WithLastTransitionTime(metav1.Now())).
			WithNetworkData(applyresource.NetworkDeviceData().WithInterfaceName("eth1").WithIPs("10.0.0.1/24")),
		)), metav1.ApplyOptions{FieldManager: driver, Force: true})
	if err != nil {
		return err
	}
	if err := want("devices", len(made.Status.Devices), 1); err != nil {
		return err
	}
	own, err := applyresource.ExtractResourceClaimFrom(made, driver, "status")
	if err != nil {
		return err
	}
	return want("own devices", len(own.Status.Devices), 1)
}

func patches(ctx context.Context, a *asker) error {
	nodes := a.typed.CoreV1().Nodes()
	for _, each := range []struct {
		kind types.PatchType
		body string
	}{
		{types.StrategicMergePatchType, `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`},
		{types.MergePatchType, `{"metadata":{"labels":{"one":"1"}}}`},
		{types.JSONPatchType, `[{"op":"add","path":"/metadata/labels/two","value":"2"}]`},
	} {
		if _, err := nodes.Patch(ctx, "go-node", each.kind, []byte(each.body), metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("%s: %w", each.kind, err)
		}
	}
	for _, name := range []string{"A", "B"} {
		body := `{"status":{"conditions":[{"type":"` + name + `","status":"True"}]}}`
		if _, err := nodes.Patch(ctx, "go-node", types.StrategicMergePatchType, []byte(body),
			metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
	}
	found, err := nodes.Get(ctx, "go-node", metav1.GetOptions{})
	if err != nil {
		return err
	}
	got := fmt.Sprint(found.Labels["one"], found.Labels["two"], len(found.Status.Conditions))
	return want("labels and conditions", got, "122")
}

func reviews(ctx context.Context, a *asker) error {
	made, err := a.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
		&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: "create", Group: resourceapi.GroupName, Resource: "resourceslices"}}},
		metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := want("may create slices", made.Status.Allowed, true); err != nil {
		return err
	}
	other, err := a.typed.AuthorizationV1().SubjectAccessReviews().Create(ctx,
		&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "nobody",
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets"}}},
		metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := want("nobody may read secrets", other.Status.Allowed, false); err != nil {
		return err
	}
	rules, err := a.typed.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx,
		&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: space}},
		metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if len(rules.Status.ResourceRules) == 0 {
		return errors.New("no rules for an administrator")
	}
	return whoAmI(ctx, a)
}

func tokens(ctx context.Context, a *asker) error {
	made, err := a.typed.CoreV1().ServiceAccounts(space).CreateToken(ctx, "default",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	found, err := a.typed.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: made.Status.Token}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return want("user", found.Status.User.Username, "system:serviceaccount:"+space+":default")
}

func whoAmI(ctx context.Context, a *asker) error {
	made, err := a.typed.AuthenticationV1().SelfSubjectReviews().Create(ctx,
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if made.Status.UserInfo.Username == "" {
		return errors.New("no name")
	}
	return nil
}
