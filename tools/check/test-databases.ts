import { makeTemplate } from '@chancery/testkit'

let remove: (() => Promise<void>) | undefined

/** Before the tests on PostgreSQL: one migrated database, which theirs are copies of. */
export async function setup(): Promise<void> {
  remove = await makeTemplate()
}

export async function teardown(): Promise<void> {
  await remove?.()
}
