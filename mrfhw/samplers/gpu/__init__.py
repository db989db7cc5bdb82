"""Gibbs sampling by OpenCL devices, in whole numbers: the same labels on each (backend "gpu")."""
