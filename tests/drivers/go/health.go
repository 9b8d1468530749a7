//go:build !helper134

package main

import (
	"context"
	"time"

	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// healthEvery is well below the 30 s after which a kubelet calls the health of a device unknown.
const healthEvery = 10 * time.Second

// WatchHealthStatus tells the health of all published devices again and again.
func (d *driver) WatchHealthStatus(ctx context.Context, reports chan<- kubeletplugin.DeviceHealthReport) error {
	for {
		report := kubeletplugin.DeviceHealthReport{}
		for _, name := range d.present() {
			report.Devices = append(report.Devices, kubeletplugin.DeviceHealth{
				PoolName: d.node, DeviceName: name, Health: kubeletplugin.HealthStatusHealthy, LastUpdated: time.Now(),
			})
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
