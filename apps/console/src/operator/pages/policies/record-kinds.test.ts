import { type JsonObject, readJson } from '@chancery/protocol'
import { expect, it } from 'vitest'
import { RECORD_KINDS, publishRecordAct, recordText } from './record-kinds.ts'

it('offers a record for publication with its numbers as they were signed', () => {
  const record = readJson('{"policy_id":"p","routing":{"weight":1.0,"size":9007199254740993}}') as JsonObject
  for (const kind of RECORD_KINDS) {
    const text = recordText(kind, record)
    expect(text).toContain('"weight": 1.0,')
    expect(text).toContain('"size": 9007199254740993')
    const act = publishRecordAct(kind, record)
    const [request] = act.requests({ record: act.fields[0]?.initial ?? '' })
    const { policy_id: _assigned, ...written } = record
    expect(request?.body).toEqual(kind.toBody(kind.assigned.includes('policy_id') ? written : record))
  }
})
