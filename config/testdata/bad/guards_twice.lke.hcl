guards {}

guards {} # want: Guards given twice: There is a guards block already
