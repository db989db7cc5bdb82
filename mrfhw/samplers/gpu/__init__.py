"""Gibbs sampling and first labels on devices of OpenCL or CUDA, in whole numbers (backend "gpu"). Chains take turns in backends."""
