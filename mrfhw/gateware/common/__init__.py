"""Parts that any other uses: memories, queues, pipelines, signatures of buses, modules emitted once. Nothing of Gibbs sampling."""
