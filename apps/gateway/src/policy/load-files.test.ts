import { expect, it } from 'vitest'
import { ConfigurationError } from './load-files.ts'

it('has the exit code of wrong settings, and of a file whose content may be replaced 1', () => {
  const missing = { setting: 'GATEWAY_POLICY_FILE', path: '', message: 'is required' }
  const content = { setting: 'GATEWAY_POLICY_FILE', path: 'revision', message: 'is needed' }
  expect(new ConfigurationError([missing]).exitCode).toBe(78)
  expect(new ConfigurationError([content]).exitCode).toBe(1)
  expect(new ConfigurationError([missing, content]).exitCode).toBe(1)
})
