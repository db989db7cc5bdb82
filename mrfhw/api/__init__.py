"""The public interface, which `mrfhw` itself has: pictures, arrays and problems in, answers out. It computes nothing itself."""
