// Which GPUs share a way to the host: what the kernel says of the PCIe tree. Pure but for reading links in a folder.
#pragma once

#include <filesystem>
#include <string>

namespace rouse::cuda {

// The root port below which the device ("0000:3b:00.0") hangs, if there is a switch in between; all devices behind that one give the same answer.
// Empty: it has a root port for itself, or nobody knows; a virtual machine's kernel is told of no switches.
std::string sharedPciWay(const std::string& pciAddress, const std::filesystem::path& devices = "/sys/bus/pci/devices");

}  // namespace rouse::cuda
