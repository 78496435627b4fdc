import { FormError, type JsonValue, type RecordForm, checkReceivedForm, readReceived } from '@chancery/protocol'

/**
 * Reads a trust record of an answer. It must be whole and hold nothing this release does not know: a member dropped
 * here would break the signature wherever the record is presented next.
 */
export function signedRecord<Value>(form: RecordForm<Value>): (value: JsonValue) => Value {
  return (value) => {
    const received = readReceived(form, value)
    const verdict = checkReceivedForm(received)
    if (!verdict.ok) throw new FormError('', `the record is not in its signed form (${verdict.reason})`)
    return received.record
  }
}
