//go:build !helper134

package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// healthEvery is well below the 30 s after which a kubelet calls the health of a device unknown.
const healthEvery = 10 * time.Second

// WatchHealthStatus tells the health of all devices again and again; one that is gone is unhealthy.
func (d *driver) WatchHealthStatus(ctx context.Context, reports chan<- kubeletplugin.DeviceHealthReport) error {
	for {
		present := d.present()
		report := kubeletplugin.DeviceHealthReport{}
		for n := range d.devices {
			device := kubeletplugin.DeviceHealth{
				PoolName: d.node, DeviceName: "dev-" + strconv.Itoa(n), Health: kubeletplugin.HealthStatusHealthy, LastUpdated: time.Now(),
			}
			if !slices.Contains(present, device.DeviceName) {
				device.Health, device.Message = kubeletplugin.HealthStatusUnhealthy, "unplugged"
			}
			report.Devices = append(report.Devices, device)
		}
		select {
		case <-ctx.Done():
			return nil
		case reports <- report:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(healthEvery):
		}
	}
}
