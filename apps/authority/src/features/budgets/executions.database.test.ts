import { accepted } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { COUNT, openExecuting } from './budgets.suite.ts'

describe('counts on execution', () => {
  it('keeps what succeeded, and releases what failed when the decision ends', async () => {
    const executing = await openExecuting()
    const config = { ...COUNT, counts: 'on_execution', executors: ['rotator'], settle_seconds: 600 }
    const limit = await executing.limited(config)
    const [first, second] = [await limit.decide(), await limit.decide()]
    await executing.report(first, limit.capability, 'success')
    await executing.report(second, limit.capability, 'failure')
    expect((await limit.decide()).step.inputs).toMatchObject({ used_before: '2', reserved_before: '1' })
    executing.clock.advance(301)
    expect((await limit.decide()).step).toMatchObject({
      result: true,
      inputs: { used_before: '1', reserved_before: '0' },
    })
    await executing.stop()
  })

  it('releases after its time what no executor reported, and counts a late success again', async () => {
    const executing = await openExecuting()
    const config = { ...COUNT, limit: 1, counts: 'on_execution', executors: ['rotator'], settle_seconds: 600 }
    const limit = await executing.limited(config)
    const first = await limit.decide()
    executing.clock.advance(800)
    expect((await limit.decide()).decision.authorized).toBe(false)
    executing.clock.advance(200)
    expect((await limit.decide()).decision.authorized).toBe(true)
    await executing.report(first, limit.capability, 'success')
    expect((await limit.decide()).step.inputs).toMatchObject({ used_before: '2', remaining: '0' })
    const events = accepted(await executing.get('/admin/audit?event=budget_overrun'))['events']
    expect(events).toMatchObject([{ details: { source: limit.source, percent: 200 } }])
    expect(accepted(await executing.get('/admin/findings'))['findings']).toContainEqual(
      expect.objectContaining({ check: 'budget_overrun', status: 'bad', about: limit.source }),
    )
    await executing.stop()
  })
})
