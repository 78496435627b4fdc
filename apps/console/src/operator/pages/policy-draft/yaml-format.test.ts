import { canonicalJson } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { lineOfField, lineOfIssue, policyText } from '../policies/policy-text.ts'
import { JSON_FORMAT, changeFormat } from './draft-format.ts'
import { YAML_FORMAT } from './yaml-format.ts'

/** Holds: one draft has the same policy in both formats, and every problem of YAML has its line. */

const TEXT = `# Payments stay below the limit
policy_id: spending
valid_until: 2027-01-14T18:34:00Z
selector: { capabilities: [pay.*] }
gates:
  - gate_id: amount
    order: 0
    config: { path: request_parameters.amount, max: 1000 }
  - gate_id: 'hours' # working hours
    order: 1
    config: { utc_hour_start: 7 }
`
const INTENT = {
  policy_id: 'spending',
  valid_until: '2027-01-14T18:34:00Z',
  selector: { capabilities: ['pay.*'] },
  gates: [
    { gate_id: 'amount', order: 0, config: { path: 'request_parameters.amount', max: 1000 } },
    { gate_id: 'hours', order: 1, config: { utc_hour_start: 7 } },
  ],
}
const problemOf = (text: string): unknown => {
  const { problem } = YAML_FORMAT.read(text)
  return problem
}

describe('a draft in YAML', () => {
  it('is read with times as texts and whole numbers as numbers', () => {
    expect(YAML_FORMAT.read(TEXT).intent).toEqual(INTENT)
  })

  it('is written so that it reads as the same policy', () => {
    const { intent } = YAML_FORMAT.read(YAML_FORMAT.write({ ...INTENT, description: 'yes: "no" # 1' }))
    expect(policyText(intent ?? {})).toBe(policyText({ ...INTENT, description: 'yes: "no" # 1' }))
  })

  it('keeps the type of every number, so that the signed bytes are those that were written', () => {
    const text = 'a: 1\nb: 1.0\nc: 1e3\nd: -2.0\ne: 0.5\nf: 12345678901234567890\n"5": x\ng: 1e22\n'
    const { intent = {} } = YAML_FORMAT.read(text)
    const signed = '{"5":"x","a":1,"b":1.0,"c":1000.0,"d":-2.0,"e":0.5,"f":12345678901234567890,"g":1e+22}'
    expect(canonicalJson(intent)).toBe(signed)
    const again = YAML_FORMAT.read(YAML_FORMAT.write(intent)).intent ?? {}
    expect(policyText(again)).toBe(policyText(intent))
    const asJson = JSON_FORMAT.read(JSON_FORMAT.write(intent)).intent ?? {}
    expect(policyText(asJson)).toBe(policyText(intent))
    expect(policyText(intent)).toContain('"b": 1.0')
  })

  it.each([
    ['a: 1\nb: &x 2\n', 2, 'Anchors'],
    ['a: &x 1\nb: *x\n', 1, 'Anchors'],
    ['a: 1\nb: !!set {}\n', 2, 'tag'],
    ['a: 1\n---\nb: 2\n', 2, 'one document'],
    ['a: 1\na: 2\n', 2, 'unique'],
    ['a: 1\nb: 123456789012345678901234567890\n', 2, 'too large'],
    ['a: 1\n1: b\n', 2, 'in quotes'],
    ['a: 1\ntrue: b\n', 2, 'in quotes'],
    ['a: 1\nb: { ~: c }\n', 2, 'in quotes'],
    ['a: 1\n? [x, y]\n: b\n', 2, 'in quotes'],
    ['a: .inf\n', 1, 'no such number'],
    ['a: 1\nb: [1, 2\n', 3, 'Flow sequence'],
    ['- 1\n', 1, 'names and values'],
    ['', 1, 'names and values'],
  ])('names the line of what it does not read: %j', (text, line, part) => {
    expect(problemOf(text)).toMatchObject({ line, text: expect.stringContaining(part) as string })
  })

  it('has a line for each problem of the authority', () => {
    expect(lineOfIssue(TEXT, { message: 'order is used before', gate_id: 'hours' })).toBe(9)
    expect(lineOfIssue(TEXT, { message: 'policy_id: 1 to 128 characters', gate_id: null })).toBe(2)
    expect(lineOfIssue(TEXT, { message: 'at least one is needed', gate_id: null })).toBe(5)
    expect(lineOfField(TEXT, 'gates[1].order')).toBe(10)
    expect(lineOfField(TEXT, 'gates[0].config.max')).toBe(8)
  })
})

describe('a change of the format', () => {
  it('keeps the policy, and returns the comments while the policy is the same', () => {
    const yaml = YAML_FORMAT
    const json = changeFormat({ text: TEXT, format: yaml }, JSON_FORMAT)
    expect(JSON.parse(json.text)).toMatchObject(INTENT)
    expect(changeFormat(json, yaml).text).toBe(TEXT)
    const edited = changeFormat({ ...json, text: json.text.replace('1000', '999') }, yaml)
    expect(edited.text).toContain('max: 999')
    expect(edited.text).not.toContain('#')
  })

  it('returns the comments also after the form and JSON', () => {
    const [yaml, form] = [YAML_FORMAT, { ...JSON_FORMAT, name: 'Form' } as const]
    const shown = changeFormat(changeFormat({ text: TEXT, format: yaml }, form), JSON_FORMAT)
    expect(changeFormat(shown, yaml).text).toBe(TEXT)
  })

  it('leaves a text that cannot be read', () => {
    const broken = { text: 'a: [', format: YAML_FORMAT }
    expect(changeFormat(broken, JSON_FORMAT)).toBe(broken)
  })
})
