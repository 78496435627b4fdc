import { expect, it } from 'vitest'
import * as restore from '../campaigns/faults/restore.ts'
import { runCampaign } from './campaign-run.ts'

// In a separate file, because it mostly waits: another worker uses the time.
it('restore finds no violation in one case', async () => {
  expect(await runCampaign('restore', restore, { count: 1 })).toEqual({ cases: 1, violations: 0 })
}, 300_000)
