import { Refusal } from '@chancery/contract'
import { type JsonValue, isPlainText } from '@chancery/protocol'

const MAX_LABEL = 64

/** A label is text for operators: it is in no signed record and no public response. */
export function readLabel(value: JsonValue): string {
  if (typeof value !== 'string' || !isPlainText(value, MAX_LABEL))
    throw new Refusal('invalid_input', { field: 'label' })
  return value
}

/** The form labels are compared in. Computed here, because databases fold letters in different ways. */
export function foldLabel(label: string): string {
  return label.normalize('NFC').toLowerCase()
}
