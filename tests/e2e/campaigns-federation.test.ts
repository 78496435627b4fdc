import { expect, it } from 'vitest'
import { runFederation } from '../campaigns/federation/federation-model.ts'
import { runCampaign } from './campaign-run.ts'

// 5000 steps run at night, where the seed chooses the database, and 100 on PostgreSQL.
it('federation-model finds no violation in 80 steps', async () => {
  const campaign = { run: (options: Parameters<typeof runFederation>[0]) => runFederation(options, 'sqlite') }
  expect(await runCampaign('federation-model', campaign, { count: 80 })).toEqual({ cases: 80, violations: 0 })
}, 300_000)
