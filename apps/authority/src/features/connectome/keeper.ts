import type { Instant } from '@chancery/protocol'
import { Coalesced } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import type { Stamps } from '../../store/database.ts'
import { GraphBuilder } from './builder.ts'
import type { BuiltGraph } from './builder.ts'

interface Held extends BuiltGraph {
  readonly stamp: string
  /** What the clock showed before it was built: set back behind that, what had ended may be in force. */
  readonly builtAt: Instant
}

/**
 * The recognition graph in memory. Rebuilt when a treaty or an imported revocation changed on any instance, or when
 * the next lifecycle boundary passes; never per request.
 */
export class GraphKeeper {
  readonly #builder = new GraphBuilder()
  #held: Held | undefined
  #build: Coalesced<Held> | undefined

  async current(office: Office): Promise<BuiltGraph> {
    const stamps = await office.stamps.read()
    const held = this.#held
    const isFresh = held?.isAlive() === true && held.stamp === stampOf(stamps) && isCurrent(held, office.clock.now())
    if (isFresh) return held
    // Shared by all who wait, and started after each of them asked.
    this.#build ??= new Coalesced(async () => {
      const builtAt = office.clock.now()
      const before = stampOf(await office.stamps.read())
      const built = { ...(await this.#builder.build(office)), stamp: before, builtAt }
      this.#held = built
      return built
    })
    return this.#build.read()
  }

  close(): Promise<void> {
    return this.#builder.close()
  }
}

function isCurrent({ builtAt, staleAt }: Held, now: Instant): boolean {
  return builtAt <= now && (staleAt === undefined || now < staleAt)
}

function stampOf({ versions }: Stamps): string {
  return `${versions.get('treaties') ?? 0}/${versions.get('imports') ?? 0}`
}
