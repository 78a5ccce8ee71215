"""The NVIDIA libraries that abtune calls itself: NVML and NVRTC."""
