import { LoadConnection } from './load-connection.ts'
import type { LoadReport, LoadTask, WorkerMessage } from './load-task.ts'
import { requireLoopback } from './loopback.ts'
import { buildRequests, type RequestSource } from './requests.ts'
import { quantile } from './statistics.ts'

process.on('message', (task: LoadTask) => {
  void run(task).then(tell, (error: unknown) => tell({ problem: String(error) }))
})
process.once('disconnect', () => process.exit(0))

function tell(message: WorkerMessage): void {
  process.send?.(message)
}

async function run(task: LoadTask): Promise<WorkerMessage> {
  requireLoopback(task.host)
  const requests = await buildRequests(task)
  return { report: await drive(task, requests) }
}

async function drive(task: LoadTask, requests: RequestSource): Promise<LoadReport> {
  const latencies = new Float64Array(task.maxRequests)
  const done = Promise.withResolvers<void>()
  let [sent, answered, open] = [0, 0, task.connections]
  let deadline = Number.POSITIVE_INFINITY
  let lastAt = 0
  let startedAt = 0
  const { pace } = task
  const events = {
    next: ({ status, milliseconds }: { status: number; milliseconds: number }) => {
      if (status !== 200 && status !== 201) done.reject(new Error(`a request was answered with ${status}`))
      const now = performance.now()
      // Responses after the end are not counted.
      if (now > deadline) return undefined
      latencies[answered] = milliseconds
      answered += 1
      lastAt = now
      const request = requests(sent)
      sent += 1
      return request
    },
    ...(pace === undefined ? {} : { delayMs: () => startedAt + (sent * 1000) / pace - performance.now() }),
    failed: (error: Error) => done.reject(error),
    ended: () => {
      open -= 1
      if (open === 0) done.resolve()
    },
  }
  const ports = [task.port, ...(task.morePorts ?? [])]
  const opening = Array.from({ length: task.connections }, (_, index) =>
    LoadConnection.open(
      {
        host: task.host,
        port: ports[index % ports.length] ?? task.port,
        localAddress: task.addresses?.[index % task.addresses.length],
      },
      events,
    ),
  )
  const connections = await Promise.race([Promise.all(opening), done.promise.then(() => [])])
  const cpu = process.cpuUsage()
  startedAt = performance.now()
  deadline = startedAt + task.seconds * 1000
  for (const connection of connections) {
    const request = requests(sent)
    if (request === undefined) throw new Error('fewer requests than connections')
    sent += 1
    connection.send(request)
  }
  const limit = setTimeout(() => done.reject(new Error('the slice did not end')), task.seconds * 1000 + 15_000)
  await done.promise.finally(() => clearTimeout(limit))
  return summarize(latencies.subarray(0, answered), (lastAt - startedAt) / 1000, process.cpuUsage(cpu))
}

function summarize(latencies: Float64Array, seconds: number, { user, system }: NodeJS.CpuUsage): LoadReport {
  const sorted = latencies.sort()
  return {
    requests: sorted.length,
    seconds,
    rate: sorted.length / seconds,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    generatorCores: (user + system) / 1_000_000 / seconds,
  }
}
