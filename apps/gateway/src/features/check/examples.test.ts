import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { OVERRIDES } from './checked-request.ts'

/** Holds: the configurations that are printed and cannot be run here send the check what it needs. */
const page = readFileSync(new URL('../../../../../docs/how-to/http-check.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block = '']) => block)
const blockOf = (word: string): string => blocks.find((block) => block.includes(word)) ?? ''

it('Envoy over HTTP sends the headers that the check refuses, and the body', () => {
  const envoy = blockOf('http_service:')
  const sent = envoy.slice(envoy.indexOf('allowed_headers:'), envoy.indexOf('authorization_response:'))
  for (const name of OVERRIDES) expect(sent).toContain(name)
  expect(envoy).toContain('with_request_body:')
})

it('Traefik sends the body, and removes what a client says about it', () => {
  const traefik = blockOf('forwardAuth:')
  expect(traefik).toContain('forwardBody: true')
  expect(traefik).toContain("X-Original-Length: ''")
})

it('each of them names the member of the policy that it needs', () => {
  expect(page.split('"proxy_reports_body": true')).toHaveLength(3)
})
