import { Thread } from '@chancery/service-kit'
import { CHECKS } from './checks.ts'
import { StepFailure } from './step-failure.ts'

type Checks = typeof CHECKS
type Task<Name extends keyof Checks> = Parameters<Checks[Name]>[0]
type Value<Name extends keyof Checks> = Extract<Awaited<ReturnType<Checks[Name]>>, { readonly value: unknown }>['value']

/** Above this size a document is read in another thread. */
const INLINE_BYTES = 262_144
/** A page of treaties has one signature for every 700 bytes. */
const INLINE_TREATY_BYTES = 16_384

/** Checks small documents on the event loop and large ones in a thread, which is replaced when it ended. */
export class MaterialChecks {
  #thread: Thread | undefined

  /** Throws {@link StepFailure} for a document that does not hold. */
  async run<Name extends keyof Checks>(name: Name, task: Task<Name>): Promise<Value<Name>> {
    const size = task.blocks.reduce((sum, block) => sum + block.length, 0)
    const isSmall = size <= (name === 'treaties' ? INLINE_TREATY_BYTES : INLINE_BYTES)
    const check = CHECKS[name] as (task: Task<Name>) => ReturnType<Checks[Name]>
    const found = isSmall
      ? await check(task)
      : await this.#ready().call<Awaited<ReturnType<Checks[Name]>>>(
          name,
          task,
          task.blocks.map(({ buffer }) => buffer),
        )
    if ('failure' in found) throw new StepFailure(found.failure)
    return found.value
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }

  #ready(): Thread {
    if (this.#thread === undefined || this.#thread.hasEnded)
      this.#thread = new Thread('./material-thread', import.meta.url)
    return this.#thread
  }
}
