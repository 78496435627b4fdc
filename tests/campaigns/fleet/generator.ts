import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { requireLoopback } from '../../../bench/lib/loopback.ts'
import type { FleetCall, FleetReplies, FleetTask } from './messages.ts'

type Reply = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly problem: string }

/** The nodes, in a separate process, so that their processor time can be measured alone. */
export class FleetGenerator {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #calls = 0

  constructor() {
    this.#child = fork(fileURLToPath(new URL('generator-main.ts', import.meta.url)), {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#child.on('message', (message: Reply) => {
      const waiting = this.#waiting.get(message.id)
      this.#waiting.delete(message.id)
      if ('problem' in message) waiting?.reject(new Error(`nodes: ${message.problem}`))
      else waiting?.resolve(message.value)
    })
    this.#child.once('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the process of the nodes ended'))
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  async start(task: FleetTask): Promise<void> {
    requireLoopback(task.host)
    await this.ask({ kind: 'start', task })
  }

  ask<Call extends FleetCall>(call: Call): Promise<FleetReplies[Call['kind']]> {
    const id = (this.#calls += 1)
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    this.#child.send({ id, call })
    return waiting.promise as Promise<FleetReplies[Call['kind']]>
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}
