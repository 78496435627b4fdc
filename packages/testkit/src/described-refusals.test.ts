import { expect, it } from 'vitest'
import { findUndescribedRefusal } from './described-refusals.ts'

const error = (code: string) => ({ error: { code, message: 'No.', details: {}, request_id: 'r-1' } })

it.each([
  ['POST', '/admin/nodes/label', 404, 'node_not_found', undefined],
  ['POST', '/admin/nodes/label', 401, 'admin_auth_failed', undefined],
  ['GET', '/recognition-treaties/none?x=1', 404, 'treaty_not_found', undefined],
  ['GET', '/no/such/path', 404, 'not_found', undefined],
  ['POST', '/admin/nodes/label', 404, 'treaty_not_found', 'POST /admin/nodes/label answers 404 treaty_not_found'],
  ['POST', '/admin/nodes/label', 409, 'node_not_found', 'POST /admin/nodes/label answers 409 node_not_found'],
])('%s %s with %d %s', (method, target, status, code, problem) => {
  const found = findUndescribedRefusal(method, target, status, error(code))
  if (problem === undefined) expect(found).toBeUndefined()
  else expect(found).toContain(problem)
})

it('ignores answers of success without a form, and pages', () => {
  expect(findUndescribedRefusal('GET', '/swagger.json', 200, { openapi: '3.0.3' })).toBeUndefined()
  expect(findUndescribedRefusal('GET', '/dashboard', 503, undefined)).toBeUndefined()
})
