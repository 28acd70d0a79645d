eval BEGIN
do for [p = 1:PANELS] { eval PANEL; eval "plot ".BANDS.", ".LINES.", ".OFF }
eval END
