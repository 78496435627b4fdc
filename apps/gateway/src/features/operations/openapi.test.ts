import { Validator } from '@seriousme/openapi-schema-validator'
import { GATEWAY_OPERATIONS, GATEWAY_ROUTES } from '@chancery/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestGatewaySetup, startTestSetup } from '../../test-gateway.suite.ts'

type Described = {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: object; readonly securitySchemes: object }
}
type Operation = {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly example: object } } }
  readonly security: readonly object[]
}

let setup: TestGatewaySetup
let document: Described
beforeAll(async () => {
  setup = await startTestSetup()
  document = (await setup.gateway.request('GET', '/openapi.json')).body as unknown as Described
})
afterAll(() => setup.gateway.stop())

it('is a valid OpenAPI 3.1 document of this release', async () => {
  const validate = (value: object) => new Validator().validate(structuredClone(value) as Record<string, unknown>)
  expect(await validate(document)).toEqual({ valid: true })
  expect(await validate({ ...document, info: {} })).toMatchObject({ valid: false })
  expect([document.openapi, document.info.version]).toEqual(['3.1.0', '0.0.0'])
  expect(Object.keys(document.components.schemas)).toEqual(['Signature', 'JoinCertificate', 'Decision', 'Error'])
})

it('describes every operation with its parameters, its operator headers and an example', () => {
  for (const { id, method, parameters, query, admin, body } of GATEWAY_OPERATIONS) {
    const found = document.paths[`/v1/networks/{network}/services/${id}`]?.[method.toLowerCase()]
    const names = (where: string, required: boolean): readonly string[] =>
      (found?.parameters ?? [])
        .filter((each) => each.in === where && each.required === required)
        .map(({ name }) => name)
    expect([id, names('query', true), names('query', false)]).toEqual([id, parameters, query])
    expect([id, names('header', true)]).toEqual([
      id,
      admin ? ['X-Admin-Key-Id', 'X-Admin-Timestamp', 'X-Admin-Nonce', 'X-Admin-Signature'] : [],
    ])
    expect([id, found?.requestBody?.content['application/json'].example ?? null]).toEqual([id, body])
    expect(found?.security).toEqual([{ bearer: [] }])
  }
})

it('describes every route of the gateway, with its required credential', () => {
  for (const { method, path, credential } of Object.values(GATEWAY_ROUTES)) {
    if (path.includes('{operation}')) continue
    expect(document.paths[path]?.[method.toLowerCase()]?.security, path).toHaveLength(credential === 'none' ? 0 : 1)
  }
})
