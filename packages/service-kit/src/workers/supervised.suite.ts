import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createLog } from '../log/log.ts'
import { runService } from '../process/lifecycle.ts'
import { StartError } from '../settings/start-error.ts'
import { superviseWorkers } from './supervisor.ts'
import { runWorker } from './worker.ts'

// A service for the tests of the supervisor. This file is the supervisor with an argument and a worker without one.
const log = createLog({ level: 'info', format: 'json' })
const isWorker = process.argv[2] === undefined

process.exitCode = isWorker ? await runWorker<{ fails: string }>(serve) : await supervise(process.argv[2] ?? '')

function supervise(fails: string): Promise<number> {
  const file = fileURLToPath(import.meta.url)
  // The first start of a worker is good when only later ones shall fail.
  let starts = 0
  return superviseWorkers({
    log,
    workers: 2,
    file,
    begin: (_worker, send) => {
      starts += 1
      send({ fails: fails === 'later' && starts <= 2 ? 'no' : fails })
    },
    operations: () => ({}),
    stopSeconds: 10,
  })
}

function serve({
  worker,
  begin,
  started,
  process: own,
}: Parameters<Parameters<typeof runWorker<{ fails: string }>>[0]>[0]): Promise<number> {
  return runService({
    log,
    drainSeconds: 0,
    process: own,
    start: async () => {
      if (begin.fails === 'first') throw new StartError('PORT: a wrong setting')
      if (begin.fails !== 'no') throw new Error('no connection')
      const server = createServer((_request, response) => response.end(`${worker} ${process.pid}`))
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
      const address = server.address()
      log.info('listens', { port: typeof address === 'object' ? (address?.port ?? 0) : 0 })
      started()
      return {
        turnNotReady: () => undefined,
        stopAccepting: async () => {
          server.closeAllConnections()
          await new Promise((done) => server.close(done))
        },
        close: async () => undefined,
      }
    },
  })
}
