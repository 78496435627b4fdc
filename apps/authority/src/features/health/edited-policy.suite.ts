import { type TestAuthority, accepted } from '@chancery/testkit'
import { rowsOf } from '../../testing/rows.suite.ts'

/** An active boundary policy whose stored text was edited in the database. */
export async function publishAndEdit(na: TestAuthority): Promise<void> {
  const post = (target: string, body: object) => na.as('privileged')('POST', target, body as never)
  const gate = { gate_id: 'limit', gate_type: 'max_value.v1', order: 0 }
  const config = { path: 'request_parameters.amount', max: 5 }
  const policy = {
    policy_id: 'spending',
    valid_from: '2020-01-01T00:00:00Z',
    valid_until: '2090-01-01T00:00:00Z',
    gates: [{ ...gate, config }],
  }
  accepted(await post('/admin/boundary-policies', policy), 201)
  accepted(await post('/admin/boundary-policies/spending/activate', { version: 1 }))
  await editPolicies(na, '"max":5', '"max":6')
}

export async function editPolicies(na: TestAuthority, from: string, to: string): Promise<void> {
  const db = rowsOf(na.core.database)
  const row = await db.selectFrom('boundary_policies').select('policy_json').executeTakeFirstOrThrow()
  await db
    .updateTable('boundary_policies')
    .set({ policy_json: row.policy_json.replace(from, to) })
    .execute()
}
