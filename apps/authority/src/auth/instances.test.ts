import { createTestDatabase, startTestAuthority } from '@chancery/testkit'
import { expect, it } from 'vitest'

it('an authority that is started again is one instance, whatever its name was', async () => {
  const database = await createTestDatabase('sqlite')
  const keep = { ...database, drop: async () => undefined }
  const started = async (): Promise<readonly string[]> => {
    const na = await startTestAuthority({ database: keep })
    await na.core.operatorKeysCheck.run(na.core)
    const rows = await na.core.database.read.selectFrom('instances').select('instance').execute()
    await na.stop()
    return rows.map(({ instance }) => instance)
  }
  const [first, second] = [await started(), await started()]
  expect([first.length, second.length]).toEqual([1, 1])
  expect(second).not.toEqual(first)
  await database.drop()
})
