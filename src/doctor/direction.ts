import { span } from '../core/span.ts'
import type { ClockSkew } from '../db/clock-skew.ts'

/** How far and which way a clock is off: `5m ahead of`, `3.2s behind`. */
export function direction({ aheadMs }: ClockSkew): string {
  return `${span(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'}`
}
