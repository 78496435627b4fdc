import { expect, it } from 'vitest'
import { systemClock } from '../system.ts'
import { Channel, type ChannelPort } from './channel.ts'
import { type HitReport, ReportedLimiter } from './shared-windows.ts'

interface Reported {
  readonly limiter: ReportedLimiter
  readonly reports: HitReport[]
  receive(report: HitReport): void
}

function open(): Reported {
  const reports: HitReport[] = []
  let deliver: (message: unknown) => void = () => undefined
  const port: ChannelPort = {
    send: (messages) => {
      for (const { operation, argument } of messages as { operation: string; argument: HitReport }[])
        if (operation === 'hits') reports.push(argument)
    },
    onMessage: (listener) => {
      deliver = listener
    },
    onEnd: () => undefined,
  }
  const limiter = new ReportedLimiter(systemClock, new Channel(port))
  return { limiter, reports, receive: (argument) => deliver([{ kind: 'note', operation: 'hits', argument }]) }
}

it('counts the hits of other workers, and reports only its own', async () => {
  const { limiter, reports, receive } = open()
  expect([limiter.hit('a', 3), limiter.hit('a', 3)]).toEqual([true, true])
  receive([['a', 1]])
  await expect.poll(() => limiter.used('a')).toBe(3)
  expect(limiter.hit('a', 3)).toBe(false)
  await expect.poll(() => reports).toEqual([[['a', 2]]])
  await limiter.close()
})
