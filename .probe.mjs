import { createTestDatabase, startTestAuthority } from '@chancery/testkit'
import { seedTreaties } from './tests/tools/seed-treaties.ts'
import { readGraphInput } from './apps/authority/src/features/connectome/facts.ts'
import { buildViews } from './apps/authority/src/features/connectome/views.ts'
import { listTreatyFacts, listTreatyTexts } from './apps/authority/src/features/connectome/store.ts'
const N = Number(process.argv[2])
const na = await startTestAuthority({ backend: 'postgres' })
await seedTreaties({ database: na.database.settings.DATABASE_URL, treaties: N, sovereigns: 10000 })
console.log('seeded')
const t = (name) => {
  const s = performance.now()
  return () =>
    console.log(
      name,
      Math.round(performance.now() - s),
      'ms',
      Math.round(process.memoryUsage().rss / 1e6),
      'MB rss',
      Math.round(process.memoryUsage().heapUsed / 1e6),
    )
}
let e = t('facts')
await listTreatyFacts(na.office.store.db)
e()
e = t('texts')
await listTreatyTexts(na.office.store.db)
e()
e = t('readGraphInput')
const input = await readGraphInput(na.office.store.db, na.office.clock.now())
e()
e = t('buildViews')
const v = buildViews(input)
e()
console.log('graph', v.graphText.length / 1e6, 'MB', 'connectome', v.connectomeText.length / 1e6)
const s = performance.now()
const a = await na.request('GET', '/connectome/trust-path?from=sovereign-000000&to=sovereign-000001')
console.log('worker', a.status, Math.round(performance.now() - s), a.text.slice(0, 200))
const s2 = performance.now()
const a2 = await na.request('GET', '/connectome/trust-path?from=sovereign-000000&to=sovereign-000001')
console.log('again', a2.status, Math.round(performance.now() - s2), a2.text.slice(0, 200))
await na.stop()
